"""The directions of pages as an index has them: those of the store to the last bit, and nothing is read for them."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

import memoryos.opening
from memoryos.cube import Page, Turn
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import Role
from memoryos.models.static import Static
from memoryos.operation.hierarchy.page_entries import page_entries, page_vectors, passages_of, turn_vectors
from memoryos.operation.index.resident import Resident

AT = datetime(2026, 4, 5, 12, tzinfo=UTC)
SAID = (
    ("The landlord wants to raise the rent of our flat.", "I see."),
    ("蜜蜂在杭州", "Bees, is that so? " * 200),
    ("...", ""),
    ("My daughter learned to ride her bicycle in the park last May.", "Well done!"),
)


@pytest.fixture
def vault(tmp_path, clock):
    made = memoryos.opening.open_vault(tmp_path / "memory.db", embedder="any", clock=clock, busy_timeout_seconds=1)
    yield made
    made.close()


@pytest.fixture
def pages(vault, cube):
    made = [
        cube(
            Page(
                turns=(
                    Turn(role=Role.USER, text=said, speaker=speaker, at=AT),
                    Turn(role=Role.ASSISTANT, text=answer, at=AT),
                )
            )
        )
        for said, answer in SAID
        for speaker in (None, "Ann Miller")
    ]
    with vault.write(made[0].scope) as writer:
        writer.insert(page_entries(made, Static()))
    return made


def both(vault, resident, pages):
    """What the store gives for these pages, and what the index gives."""
    ids = [page.id for page in pages]
    with vault.read(pages[0].scope) as reader:
        resident.follow(reader)
        return page_vectors(reader, ids), resident.page_vectors(reader, ids)


def test_they_are_the_same_to_the_last_bit(vault, pages):
    stored, held = both(vault, Resident(Static.dim, Static(), 7), pages)
    assert stored.keys() == held.keys()
    assert all(np.array_equal(stored[page], held[page]) for page in stored)


def test_those_of_turns_are_the_same_to_the_last_bit(vault, pages):
    resident = Resident(Static.dim, Static(), 7)
    ids = [page.id for page in pages]
    with vault.read(pages[0].scope) as reader:
        resident.follow(reader)
        stored = {page: turn_vectors(said) for page, said in passages_of(reader, ids).items()}
        held = resident.turn_vectors(reader, ids)
    assert [len(held[page]) for page in ids] == [2] * len(ids)  # one of them is of several passages
    assert stored.keys() == held.keys()
    assert all(np.array_equal(stored[page], held[page]) for page in stored)


def test_a_page_that_was_revised_has_its_new_one(vault, pages):
    resident = Resident(Static.dim, Static(), 7)
    before, _ = both(vault, resident, pages)
    first = pages[0]
    with vault.write(first.scope) as writer:
        (other,) = page_entries([pages[-1]], Static())
        writer.update([Entry(first, passages=other.passages)], Operation.REVISE)
    stored, held = both(vault, resident, pages)
    assert np.array_equal(stored[first.id], held[first.id])
    assert not np.array_equal(before[first.id], held[first.id])


def test_nothing_is_read_of_pages_that_are_in_the_index(vault, pages):
    resident = Resident(Static.dim, Static(), 7)
    ids = [page.id for page in pages]
    with vault.read(pages[0].scope) as reader:
        resident.follow(reader)
    with vault.write(pages[0].scope) as writer:
        writer.delete(ids[:1])
    with vault.read(pages[0].scope) as reader:  # the index has not followed: what it gives is its own
        assert resident.page_vectors(reader, ids[:1]).keys() == {ids[0]}
        assert resident.turn_vectors(reader, ids[:1]).keys() == {ids[0]}
        assert page_vectors(reader, ids[:1]) == {}


def test_those_of_others_are_read(vault, pages):
    resident = Resident(Static.dim, Static(), 7)
    with vault.read(pages[0].scope) as reader:
        resident.follow(reader, turns=False)
        found = resident.page_vectors(reader, [page.id for page in pages])
        turns = resident.turn_vectors(reader, [page.id for page in pages])
    assert found.keys() == turns.keys() == {page.id for page in pages}
