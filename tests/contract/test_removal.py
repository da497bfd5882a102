"""Removal: cubes that go with all that belongs to them, no more than so many rows in one transaction."""

from __future__ import annotations

from dataclasses import replace
from secrets import token_hex

import pytest

from memoryos.infrastructure.vault.records import Entry, Link, LinkKind, Operation
from memoryos.scope import Scope

ALICE = Scope(user="alice")
MANY = 10**9


@pytest.fixture
def pages(store):
    return [store(f"page {number}").cube.id for number in range(6)]


def discarded(vault, ids, scope=ALICE, *, rows=MANY, characters=MANY):
    with vault.write(scope) as writer:
        return sorted(writer.discard(ids, rows=rows, characters=characters))


def revise(vault, cube_id, times):
    """Give a page so many versions."""
    for _ in range(times):
        with vault.write(ALICE) as writer:
            cube = writer.get([cube_id])[cube_id]
            newer = replace(cube, version=replace(cube.version, number=cube.version.number + 1))
            writer.update([Entry(newer)], Operation.REVISE)


def join(vault, source, kind, targets):
    with vault.write(ALICE) as writer:
        writer.link([Link(source, kind, target) for target in targets])


def rows_of(vault, cube_id):
    """How many rows belong to a page: versions, passages, links from it and to it."""
    with vault.read(ALICE) as reader:
        ends = [*reader.targets([cube_id], LinkKind.MENTIONS), *reader.sources([cube_id], LinkKind.CHAIN)]
        passages = [passage for passage in reader.passages([cube_id]) if passage.part]
        return len(reader.history(cube_id)) + len(passages) + len(ends)


def test_cubes_that_fit_go_together(vault, pages):
    assert discarded(vault, [*pages, "nobody"]) == sorted(pages)
    with vault.read(ALICE) as reader:
        assert reader.placed() == []
        assert {event.cube_id for event in reader.events() if event.operation is Operation.DELETE} == set(pages)


def test_no_more_rows_go_at_once(vault, pages):
    """Each page is two rows: itself and its passage."""
    gone = discarded(vault, pages, rows=len(pages) + 2)
    assert len(gone) == 2
    with vault.read(ALICE) as reader:
        assert {one.id for one in reader.placed()} == set(pages) - set(gone)


def test_a_cube_with_more_rows_loses_these_first(vault, pages):
    first, *others = pages
    revise(vault, first, 5)
    join(vault, first, LinkKind.MENTIONS, others)
    for other in others:
        join(vault, other, LinkKind.CHAIN, [first])
    left, calls = rows_of(vault, first), 0
    assert left == 16
    while not discarded(vault, [first], rows=3):
        assert left - 3 == (left := rows_of(vault, first))
        calls += 1
    assert calls == 5
    with vault.read(ALICE) as reader:
        assert {one.id for one in reader.placed()} == set(others)
        assert [event.cube_id for event in reader.events() if event.operation is Operation.DELETE] == [first]


def test_no_more_characters_of_documents_go_at_once_but_always_one_document(vault, store):
    page = store(" ".join(token_hex(60) for _ in range(1_000))).cube.id  # too long to be packed
    passages = rows_of(vault, page)
    revise(vault, page, 4)
    for versions in (3, 2, 1, 0):
        assert discarded(vault, [page], characters=1_000) == []
        assert rows_of(vault, page) == versions + passages
    assert discarded(vault, [page], characters=1_000) == []
    assert rows_of(vault, page) == 0
    assert discarded(vault, [page], characters=1_000) == [page]


def test_what_belongs_to_others_stays(vault, pages):
    stranger = replace(ALICE, user="bob")
    revise(vault, pages[0], 2)
    before = rows_of(vault, pages[0])
    assert discarded(vault, pages, stranger, rows=1) == []
    assert rows_of(vault, pages[0]) == before
    with vault.read(ALICE) as reader:
        assert {one.id for one in reader.placed()} == set(pages)


def test_a_transaction_that_fails_removes_nothing(vault, pages):
    revise(vault, pages[0], 3)
    before = rows_of(vault, pages[0])
    with pytest.raises(KeyboardInterrupt), vault.write(ALICE) as writer:
        assert writer.discard(pages, rows=2, characters=MANY) == []
        raise KeyboardInterrupt
    assert rows_of(vault, pages[0]) == before
