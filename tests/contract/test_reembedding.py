"""The change of a store to another embedder, as every back end does it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from contract.back_ends import BACK_ENDS
from memoryos.cube import Fact, Segment
from memoryos.errors import EmbedderMismatch, StorageError
from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, NewVectors, Operation
from memoryos.kinds import Subject
from memoryos.models.hashing import Hashing
from memoryos.scope import Scope

ALICE = Scope(user="alice")
BOB = Scope(user="bob", tenant="acme")
START = ("", "")
NEW = np.array([0.0, 1.0, 0.0], np.float32)
OTHER = np.array([1.0, 0.0, 0.0], np.float32)


def staged(found, vector=NEW):
    return [NewVectors(one.cube, vector, [vector for _ in one.passages]) for one in found]


@pytest.fixture
def change(vault):
    """change(): a transaction towards the new embedder, which was begun."""
    with vault.reembedding("new") as begun:
        assert begun.begin()
    return lambda: vault.reembedding("new")


def pending(change, after=START, limit=100):
    with change() as session:
        return session.pending(after=after, limit=limit)


def test_what_is_pending_are_the_pages_and_facts_of_all_tenants(change, vault, store, cube):
    one, two = store("bees").cube, store("蜜蜂", scope=BOB).cube
    fact = cube(Fact(subject=Subject.USER, text="keeps bees"))
    with vault.write(ALICE) as writer:
        writer.insert([Entry(fact, OTHER)])
    found = {(item.cube.scope.tenant, item.cube.id): item for item in pending(change)}
    assert set(found) == {("default", one.id), ("default", fact.id), ("acme", two.id)}
    assert [passage.words for passage in found["default", one.id].passages] != []
    assert found["default", fact.id].passages == []


def test_they_come_a_few_at_a_time(change, store):
    ids = sorted(store(f"page {number}").cube.id for number in range(5))
    after, seen = START, []
    while found := pending(change, after, 2):
        assert len(found) <= 2
        seen += [one.cube.id for one in found]
        after = (found[-1].cube.scope.tenant, found[-1].cube.id)
    assert seen == ids


def test_what_is_staged_is_pending_no_more_and_not_in_use(change, vault, store):
    page = store("bees").cube
    with vault.read(ALICE) as reader:
        before = list(reader.passages())
    found = pending(change)
    with change() as session:
        assert session.tally() == (0, 1)
        session.stage(staged(found))
        assert session.tally() == (1, 1)
        assert session.pending(after=START, limit=10) == []
    with vault.read(ALICE) as reader:
        assert list(reader.passages([page.id])) == before


def test_new_words_make_it_pending_again(change, vault, store, entry):
    page = store("bees").cube
    found = pending(change)
    revised = entry("wasps", id=page.id)
    cube = replace(revised.cube, version=replace(page.version, number=2))
    with vault.write(ALICE) as writer:
        writer.update([replace(revised, cube=cube)], Operation.REVISE)
    with change() as session:
        session.stage(staged(found))  # of the old words
    assert [one.cube.version.number for one in pending(change)] == [2]


def test_passages_that_are_made_later_make_it_pending_again(change, vault, entry):
    made = entry("bees")
    with vault.write(ALICE) as writer:
        writer.insert([replace(made, passages=None)])
    found = pending(change)
    with change() as session:
        session.stage(staged(found))
    assert pending(change) == []
    with vault.write(ALICE) as writer:
        writer.update([made], Operation.REFRESH)
    assert [len(one.passages) for one in pending(change)] == [1]


def test_a_cube_that_is_gone_is_dropped(change, vault, store):
    page = store("bees").cube
    found = pending(change)
    with vault.write(ALICE) as writer:
        writer.delete([page.id])
    with change() as session:
        session.stage(staged(found))
        assert session.tally() == (0, 0)


@pytest.fixture
def switched(change, vault, store, cube, back_end, tmp_path, clock):
    """A store with two pages, a segment of them, a fact and a page without passages, after the switch."""
    first, second, old = store("one").cube, store("two").cube, store("old").cube
    segment = cube(Segment(summary="s", keywords=(), pages=2, first_at=clock(), last_at=clock()), id="segment")
    fact = cube(Fact(subject=Subject.USER, text="f"), id="fact")
    with vault.write(ALICE) as writer:
        writer.insert([Entry(segment, OTHER), Entry(fact, OTHER)])
        writer.link([Link(page.id, LinkKind.MEMBER_OF, "segment") for page in (first, second)])
    with change() as session:
        found = session.pending(after=START, limit=10)
        assert "segment" not in [one.cube.id for one in found]
        session.stage([*staged(found[:1], OTHER), *staged(found[1:], NEW)])
        session.switch()
    return {"first": first, "second": second, "old": old}


def test_the_switch_gives_every_vector_a_new_one(switched, back_end, tmp_path, clock):
    again = BACK_ENDS[back_end](tmp_path, clock, embedder="new")
    with again.read(ALICE) as reader:
        said = {one.page: np.frombuffer(one.vector, "<f2").tolist() for one in reader.passages()}
        vectors = reader.vectors(["segment", "fact", switched["first"].id])
    again.close()
    assert said[switched["first"].id] == OTHER.tolist()
    assert said[switched["second"].id] == NEW.tolist()
    assert vectors["segment"].tolist() == [0.5, 0.5, 0.0]
    assert vectors["fact"].tolist() == NEW.tolist()
    assert vectors[switched["first"].id].tolist() == OTHER.tolist()


def test_after_the_switch_the_old_embedder_is_refused_at_once(switched, vault, back_end, tmp_path, clock):
    for session in (vault.read, vault.write):
        with pytest.raises(EmbedderMismatch, match="'new'"), session(ALICE):
            pass
    with pytest.raises(EmbedderMismatch):
        BACK_ENDS[back_end](tmp_path, clock)


def test_what_is_left_over_is_swept(switched, change):
    with change() as session:
        assert session.is_done()
        assert session.sweep(2)
        assert session.sweep(100)
        assert not session.sweep(100)


def test_a_reader_that_began_before_the_switch_sees_the_old_vectors(change, vault, store):
    store("bees")
    found = pending(change)
    with vault.read(ALICE) as reader:
        before = list(reader.passages())
        with change() as session:
            session.stage(staged(found))
            session.switch()
        assert list(reader.passages()) == before


def test_a_transaction_that_fails_switches_nothing(change, vault, store):
    store("bees")
    found = pending(change)
    with pytest.raises(KeyboardInterrupt), change() as session:
        session.stage(staged(found))
        session.switch()
        raise KeyboardInterrupt
    with vault.read(ALICE) as reader:
        assert len(list(reader.passages())) == 1
    assert len(pending(change)) == 1


def test_another_change_takes_over_only_when_the_vectors_of_the_first_are_gone(change, vault, store):
    store("bees")
    found = pending(change)
    with change() as session:
        session.stage(staged(found))
    with vault.reembedding("other") as other:
        assert not other.begin()
        assert other.sweep(100)
        assert other.begin()
    with pytest.raises(StorageError, match="another"), change() as session:
        session.stage(staged(found))
    with vault.reembedding("other") as other:
        assert len(other.pending(after=START, limit=10)) == 1


def test_the_present_embedder_gives_a_change_up(change, vault, store):
    store("bees")
    with vault.reembedding(Hashing.name) as back:
        assert back.begin()
        assert back.is_done()
    with pytest.raises(StorageError), change() as session:
        session.stage([])
