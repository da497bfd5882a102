"""Visits: searches count them, and write them in batches with the next write."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from threading import Thread

import pytest

from memoryos import Memory, MemoryOS, Role, Scope, Tier, Turn, load_settings
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import State
from memoryos.operation.maintenance import housekeeping
from memoryos.operation.recall import visits as visits_module
from memoryos.operation.recall.visits import AT_A_TIME, FLUSH_AT, VisitLog
from served import until

from .world import ANN, START, World


def filled(world: World) -> Memory:
    memory = world.open(short_term_capacity=1, heat_threshold=1000)
    for text in ("🍵 tea one", "🍵 tea two", "🍵🚲 bike trip", "🚲 bike", "end"):
        memory.add(text)
    return memory


def visits(memory: Memory) -> dict[str, int]:
    return {view.cube.id: view.cube.behaviour.visits for view in memory.segments.list()}


def test_a_segment_gets_one_visit_for_a_search_however_many_pages(world: World):
    memory = filled(world)
    segment = memory.search("🍵", pages=2).hits[0].segment
    memory.close()
    again = world.open()
    assert visits(again)[segment] == 1
    assert sorted(visits(again).values()) == [0, 1]
    states = {view.cube.id: view.cube.state for view in again.segments.list()}
    assert states == {one: State.ACTIVATED if one == segment else State.GENERATED for one in states}


def test_two_stage_visits_each_segment_that_it_retrieves(world: World):
    memory = filled(world)
    found = memory.search("🍵🍵🍵🚲", pages=1, strategy="two_stage")
    assert len({hit.segment for hit in found.hits if hit.segment}) == 1
    memory.consolidate()
    assert sorted(visits(memory).values()) == [1, 1]
    assert set(found.chosen) == set(visits(memory))


def test_a_segment_whose_pages_were_not_returned_gets_none(world: World):
    memory = filled(world)
    hit = next(hit for hit in memory.search("🍵🍵🍵🚲", pages=1).hits if hit.segment)
    memory.consolidate()
    assert [segment for segment, count in visits(memory).items() if count] == [hit.segment]


def test_returned_pages_are_visited(world: World):
    memory = filled(world)
    returned = {hit.id for hit in memory.search("🍵", pages=2).hits}
    memory.close()
    assert {page.id for page in world.open().pages.list() if page.behaviour.visits} == returned


@pytest.mark.parametrize("sharing", ["pair", "user"])
def test_facts_that_a_search_returned_are_activated(world: World, sharing: str):
    memory = world.open(persona_sharing=sharing)
    fact = memory.facts.add("Ann keeps bees.")
    assert fact in {hit.id for hit in memory.search("bees").user_facts}
    memory.close()
    memory = world.open(persona_sharing=sharing)
    (found,) = memory.facts.list()
    assert (found.state, found.behaviour.visits) == (State.ACTIVATED, 1)
    assert [one.cause for one in memory.governance.transitions(fact)] == ["visit"]


def test_a_use_that_is_written_with_a_move_is_the_cause_of_the_transition(world: World):
    memory = world.open()
    memory.governance.retain("fading", half_life=60)
    page = memory.add("🎲")
    assert [hit.id for hit in memory.search("🎲").hits] == [page]
    memory.close()
    memory = world.open()
    assert [one.cause for one in memory.governance.transitions(page)] == ["visit"]
    assert memory.get(page).governance.lifespan.expires_at == START + timedelta(seconds=120)


def test_a_visit_moves_the_last_access(world: World):
    memory = filled(world)
    world.clock.advance(days=3)
    memory.search("🍵", pages=2)
    memory.close()
    segment = max(world.open().segments.list(), key=lambda view: view.cube.behaviour.visits)
    assert segment.cube.behaviour.last_access == world.clock()
    assert segment.cube.behaviour.last_access > START


def test_a_search_writes_nothing(world: World):
    memory = filled(world)
    before = memory.log.events()
    for _ in range(5):
        memory.search("🍵")
        memory.context("🚲")
        memory.search("tea", strategy="bm25")
    assert memory.log.events() == before


def test_visits_are_written_together_with_the_next_write(world: World):
    memory = filled(world)
    for _ in range(3):
        memory.search("🍵", pages=2)
    last = memory.log.events()[-1].sequence
    memory.add("🌙 moon")
    written = [event for event in memory.log.events(after=last) if event.operation is Operation.VISIT]
    assert len({event.cube_id for event in written}) == len(written)
    assert max(visits(memory).values()) == 3


def test_many_visits_are_written_without_waiting(world: World):
    memory = world.open(short_term_capacity=FLUSH_AT + 5)
    for number in range(FLUSH_AT + 5):
        memory.add(f"🍵 {number}")
    before = len(memory.log.events())
    memory.search("🍵", pages=FLUSH_AT + 5)
    memory.wait()
    done = [event.operation for event in memory.log.events()][before:]
    assert done.count(Operation.VISIT) == done.count(Operation.TRANSITION) == FLUSH_AT + 5  # the first use activates


def test_searches_whose_visits_wait_for_the_background_start_no_threads(world: World):
    memory = world.open(short_term_capacity=FLUSH_AT + 5)
    for number in range(FLUSH_AT + 5):
        memory.add(f"🍵 {number}")
    memory.wait()

    def started() -> int:
        """How many threads without a name of their own were made by now."""
        return int(Thread().name.partition("-")[2])

    with memory._engine.housekeeping.call():  # the background lets it go first
        before = started()
        for _ in range(5):
            memory.search("🍵", pages=FLUSH_AT + 5)
        assert started() - before <= 3, "one each for the background and its timer, and the one that tells"


def test_visits_of_the_next_seconds_wait_for_each_other_and_slow_down_no_search(world: World, monkeypatch):
    monkeypatch.setattr(visits_module, "REST_SECONDS", 1e6)
    memory = world.open(short_term_capacity=2 * AT_A_TIME)
    ids = memory.add_many([Turn(role=Role.USER, text=f"🍵 {number}") for number in range(AT_A_TIME + 5)])

    def written() -> int:
        return [event.operation for event in memory.log.events(after=last, limit=10_000)].count(Operation.VISIT)

    last = memory.log.events(limit=10_000)[-1].sequence
    memory.search("🍵", pages=len(ids))
    memory.wait()
    assert written() == len(ids), "in two transactions"
    for number in range(3):
        memory.search("🍵", pages=len(ids))
        Memory.add(memory, f"🌙 {number}")  # without a wait
        memory.segments.list()  # all pages have moved
    assert written() == len(ids)
    memory.close()
    memory = world.open(short_term_capacity=2 * AT_A_TIME)
    assert written() == 2 * len(ids), "each with the count of three searches"
    assert memory.get(ids[0]).behaviour.visits == 4


def test_visits_are_written_after_a_while_without_another_call(world: World, monkeypatch):
    """They waited for a write or for 63 others: a rule with a half-life removed a page that was used all the time."""
    monkeypatch.setattr(housekeeping, "VISITS_SECONDS", 0.01)
    memory = world.open()
    memory.governance.retain("fading", half_life=60)
    page = memory.add("🎲")
    memory.wait()
    monkeypatch.setattr(visits_module, "REST_SECONDS", 0.2)  # those of the first search are written, then they rest
    for times in (1, 2):
        assert [hit.id for hit in memory.search("🎲").hits] == [page]
        until(lambda times=times: memory.get(page).behaviour.visits == times)
    world.clock.advance(seconds=119)
    assert memory.get(page).governance.lifespan.expires_at > world.clock()


def test_an_owner_whose_upkeep_failed_is_looked_at_again(world: World, monkeypatch):
    """The time of its next job was taken for that of the visits, and was not set again."""
    memory = filled(world)
    memory.wait()
    keeper = memory._engine.housekeeping
    owner = memory.scope.owner

    def full(*_: object, **__: object) -> None:
        raise StorageError("the disk is full")

    monkeypatch.setattr(keeper, "_step", full)
    keeper._keep(owner)
    assert owner in keeper._timer._times


def test_visits_that_could_not_be_written_do_not_rest():
    moment = 0.0
    log = VisitLog(lambda: moment)
    assert log.record(ANN, map(str, range(FLUSH_AT)), START)
    assert log.rests(ANN) == 0
    assert len(log.take(ANN, 10)) == 10
    assert (log.waiting(ANN), log.rests(ANN), log.owners()) == (FLUSH_AT - 10, visits_module.REST_SECONDS, [ANN])
    log.give_back(ANN, log.take(ANN))
    assert log.rests(ANN) == 0
    log.take(ANN)
    moment = visits_module.REST_SECONDS
    assert log.rests(ANN) == 0


def test_visits_of_a_page_deleted_meanwhile_are_dropped(world: World):
    memory = filled(world)
    page = memory.search("🍵", pages=1).hits[0].id
    memory.delete(page)
    memory.close()
    assert page not in [left.id for left in world.open().pages.list()]


def test_visited_pages_keep_their_content(world: World):
    memory = filled(world)
    before = [(page.id, page.payload, page.tier) for page in memory.pages.list()]
    memory.search("🍵🚲")
    memory.close()
    assert [(page.id, page.payload, page.tier) for page in world.open().pages.list()] == before


def test_a_visit_to_the_archive_leaves_it_there(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=1)
    for text in ("🍵 tea", "🚲 bike", "🌙 moon"):
        memory.add(text)
    memory.search("🍵", archive=True)
    memory.consolidate()
    (page,) = memory.pages.list(tier=Tier.ARCHIVE)
    assert page.behaviour.visits == 1


def test_the_log_is_kept_by_owner_and_taken_once():
    log = VisitLog()
    other = ANN.__class__(user="bob")
    log.record(ANN, ["a", "b"], START)
    log.record(other, ["a"], START)
    assert log.take(ANN) == {"a": (1, START), "b": (1, START)}
    assert log.take(ANN) == {}
    assert log.owners() == [other]


def test_visits_survive_an_add_that_fails(world: World):
    memory = world.open()
    page = memory.add("🍵")
    memory.search("🍵")
    with world.refusing("INSERT"), pytest.raises(StorageError):
        memory.add("🍵 again")
    memory.add("🍵 again")
    assert memory.get(page).behaviour.visits == 1


@pytest.mark.once
def test_visits_of_many_owners_do_not_pile_up(monkeypatch):
    monkeypatch.setattr(visits_module, "CROWD", 4)
    log, owners = VisitLog(), [Scope(user=f"user{number}") for number in range(9)]
    for owner in owners[:4]:
        log.record(owner, ["a"], START)
    assert log.overdue() is None
    log.record(owners[4], ["a"], START)
    assert log.overdue() == owners[0], "it waits longest"
    assert len(log.take(owners[0])) == 1
    assert log.overdue() is None
    for owner in owners[5:]:
        log.record(owner, ["a"], START)
    assert log.owners() == owners[1:], "as many as may wait"
    log.record(owners[1], ["b", "c"], START)
    assert log.owners() == owners[2:], "the visits of who waits longest are dropped, also of one who comes again"
    log.record(owners[0], [], START)
    assert log.owners() == owners[2:], "a search without a hit is nothing to write"


def test_visits_of_those_who_wait_longest_are_written_when_many_wait(world: World, monkeypatch):
    monkeypatch.setattr(visits_module, "CROWD", 1)
    memory = world.open()
    pages = [memory.add("🍵"), memory.add("🍵🚲")]
    memory.search("🍵", pages=2)
    memory._engine.housekeeping._background.wait()  # memory.wait() would write all visits
    assert [memory.get(page).behaviour.visits for page in pages] == [1, 1]


@pytest.mark.file
def test_a_memory_that_is_only_read_counts_no_visits(tmp_path):
    settings = load_settings(embedder="hashing")
    with closing(MemoryOS.open(tmp_path / "m.db", settings=settings)) as store:
        store.memory("ann").add("I keep bees.")
    with closing(MemoryOS.open(tmp_path / "m.db", settings=settings, read_only=True)) as store:
        memory = store.memory("ann")
        assert memory.search("bees").hits
        assert memory._engine.housekeeping._visits.owners() == []
