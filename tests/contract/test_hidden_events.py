"""`log.events` for who may read a part: the parts follow each other, and none takes longer for what others have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attack.governed import statements_in
from memoryos import Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault import viewed
from memoryos.infrastructure.vault.records import Event
from memoryos.infrastructure.vault.session import SqlReader
from memoryos.models.hashing import Hashing

ANN = Scope(user="ann")
POLICIES = """
permit (principal, action, resource is Cube) when { resource.owner == principal };
permit (principal in Role::"nurse", action == Action::"read", resource is Cube)
when { resource.sensitivity.contains("diet") };
"""
NURSE = Caller("kim", frozenset({"nurse"}))


@pytest.fixture
def store(place, clock, tmp_path) -> Iterator[MemoryOS]:
    (tmp_path / "ward.cedar").write_text(POLICIES)
    settings = load_settings(policies=str(tmp_path / "ward.cedar"), short_term_capacity=50)
    with MemoryOS.open(place, settings=settings, embedder=Hashing(), clock=clock) as opened:
        yield opened


def written(memory: Memory, count: int) -> None:
    for number in range(count):
        memory.add(f"The bees sting {number}.")
    memory.wait()


def parts(memory: Memory, limit: int) -> list[list[Event]]:
    found = [memory.log.events(limit=limit)]
    while found[-1].cursor:
        found.append(memory.log.events(limit=limit, cursor=found[-1].cursor))
    return [list(one) for one in found]


def test_a_part_takes_no_more_statements_the_more_there_is_that_the_caller_may_not_read(store, monkeypatch):
    monkeypatch.setattr(viewed, "_EVENTS_AT_ONCE", 4)
    ann, nurse = store.of(ANN, Caller("ann")), store.of(ANN, NURSE)
    written(ann, 3)
    few = statements_in(lambda: nurse.log.events(limit=2))
    written(ann, 30)
    many = statements_in(lambda: nurse.log.events(limit=2))
    assert many <= few
    assert (nurse.log.events(limit=2), bool(nurse.log.events(limit=2).cursor)) == ([], True)
    (first, *others) = parts(nurse, 2)
    assert (first, [one for some in others for one in some], len(others) > 5) == ([], [], True)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_the_parts_have_all_that_the_caller_may_read_once(store, monkeypatch, limit):
    ann, nurse, shown = store.of(ANN, Caller("ann")), store.of(ANN, NURSE), set()
    for number in range(4):
        written(ann, 2)
        shown |= {ann.add(f"I eat honey {number}.", sensitivity=["diet"]) for _ in range(2)}
    ann.wait()
    whole = nurse.log.events(limit=10_000)
    assert (whole.cursor, shown <= {one.cube_id for one in whole}) == (None, True)
    monkeypatch.setattr(viewed, "_EVENTS_AT_ONCE", 3)
    told = parts(nurse, limit)
    assert [one for some in told for one in some] == whole
    assert max(map(len, told)) <= limit
    mine = parts(ann, limit)
    assert [one for some in mine for one in some] == ann.log.events(limit=10_000)


def test_no_more_events_are_looked_at_than_are_asked_for_where_they_may_be_read(store, monkeypatch):
    ann, nurse = store.of(ANN, Caller("ann")), store.of(ANN, NURSE)
    for number in range(9):
        ann.add(f"I eat honey {number}.", sensitivity=["diet"])
    monkeypatch.setattr(viewed, "_EVENTS_AT_ONCE", 777)
    looked = list[int]()
    events = SqlReader.events
    monkeypatch.setattr(
        SqlReader, "events", lambda *one, limit, **more: looked.append(limit) or events(*one, limit=limit, **more)
    )
    assert len(nurse.log.events(limit=2)) == 2
    assert (looked.count(2), looked.count(777)) == (1, 0)


def test_a_cursor_goes_on_in_place_of_after(store):
    ann = store.of(ANN, Caller("ann"))
    written(ann, 3)
    first = ann.log.events(limit=2)
    assert ann.log.events(after=10**9, cursor=first.cursor)[0] not in first
    assert ann.log.events().cursor is None
    assert ann.log.events(limit=0) == []
    with pytest.raises(InvalidInput, match="cursor"):
        ann.log.events(cursor="nothing")
