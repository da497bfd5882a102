"""What has expired is removed from the store, to the minute, with all that rests on it alone, and never comes back."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from memoryos import Kind, Memory, MemoryOS, Role, Strategy, Turn
from memoryos.errors import CubeProtected, NotFound
from memoryos.importers.dialogue import Conversation, Session
from memoryos.importers.load import load_conversation
from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.kinds import State
from memoryos.operation.correction.copies import Copies

from .world import ANN, World

SMALL = {"short_term_capacity": 2, "mid_term_capacity": 2, "knowledge_capacity": 3, "heat_threshold": 10**6}
HOUR = timedelta(hours=1)


def ids(world: World) -> set[str]:
    return {cube.id for kind in Kind for cube in world.cubes(kind)}


def sweeps(memory: Memory) -> list[JobState]:
    return [job.state for job in memory.jobs.list() if job.kind is JobKind.EXPIRE]


def fill(memory: Memory, pages: int) -> None:
    for number in range(pages):
        memory.add("🍵🚲🌙🍞🚂"[number % 5])


@pytest.mark.parametrize("later", [0, 6], ids=["in STM", "in the archive"])
def test_a_page_goes_at_its_minute_and_not_before(world: World, later: int) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.", ttl=HOUR)
    fill(memory, later)
    world.clock.advance(minutes=59, seconds=59)
    memory.jobs.run()
    assert page in ids(world)
    world.clock.advance(seconds=1)
    memory.jobs.run()
    assert page not in ids(world)
    assert "zanzibarquux" not in " ".join(cube.text for kind in Kind for cube in world.cubes(kind))
    with pytest.raises(NotFound):
        memory.get(page)


def test_one_job_waits_for_the_next_end_and_none_without_ends(world: World) -> None:
    memory = world.open(**SMALL)
    fill(memory, 3)
    assert sweeps(memory) == []
    pages = [memory.add("🎲", ttl=hours * HOUR) for hours in (3, 1, 2)]
    for left in ((pages[0], pages[2]), (pages[0],), ()):
        (waiting,) = [job for job in memory.jobs.list(JobState.QUEUED) if job.kind is JobKind.EXPIRE]
        world.clock.now = waiting.not_before
        memory.jobs.run()
        assert ids(world) & set(pages) == set(left)
    assert set(sweeps(memory)) == {JobState.DONE}


def test_a_fact_goes_with_the_last_page_that_told_it(world: World) -> None:
    memory = world.open(**SMALL)
    memory.add("🍵\nfact: Ann has a zanzibarquux\nfact: Ann likes tea", ttl=HOUR)
    memory.add("🍵\nfact: Ann likes tea")
    fill(memory, 4)
    world.extract()
    assert {fact.text for fact in memory.facts.list()} == {"Ann has a zanzibarquux", "Ann likes tea"}
    world.clock.advance(hours=1)
    memory.jobs.run()
    assert [fact.text for fact in world.cubes(Kind.FACT)] == ["Ann likes tea"]


def test_a_stated_fact_and_what_the_caller_lets_expire_go_too(world: World) -> None:
    memory = world.open(**SMALL)
    fact = memory.facts.add("Ann keeps a zanzibarquux.", ttl=HOUR)
    page = memory.add("🎲 A secret.")
    world.clock.advance(hours=1)
    memory.governance.expire(page)
    memory.jobs.run()
    assert not {fact, page} & ids(world)


def test_an_end_that_was_moved_counts(world: World) -> None:
    memory = world.open(**SMALL)
    fact = memory.facts.add("Ann keeps a zanzibarquux.", ttl=HOUR)
    memory.facts.add("Ann keeps a zanzibarquux.", ttl=3 * HOUR)
    world.clock.advance(hours=2)
    memory.jobs.run()
    assert fact in ids(world)
    world.clock.advance(hours=1)
    memory.jobs.run()
    assert fact not in ids(world)


def test_what_is_frozen_stays_until_it_is_thawed(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲\nfact: Ann has a zanzibarquux", ttl=HOUR)
    other = memory.add("🎲", ttl=HOUR)
    fill(memory, 4)
    world.extract()
    (fact,) = world.cubes(Kind.FACT)
    memory.governance.freeze(fact.id)
    memory.governance.freeze(other)
    world.clock.advance(hours=2)
    memory.jobs.run()
    assert {page, other, fact.id} <= ids(world)
    assert page not in {hit.id for hit in memory.search("zanzibarquux").hits}
    with pytest.raises(CubeProtected):
        memory.delete(page)
    memory.governance.thaw(fact.id)
    memory.jobs.run()
    assert ids(world) & {page, other, fact.id} == {other}
    memory.governance.thaw(other)
    memory.jobs.run()
    assert other not in ids(world)


@pytest.mark.parametrize("protect", ["freeze", "hold"])
def test_what_waits_for_a_shared_persona_goes_within_the_hour_after_it(world: World, protect: str) -> None:
    """The persona is another scope, and nothing there says which agents' pages wait."""
    memory = world.open(**SMALL, persona_sharing="user")
    page = memory.add("I have a cello.", ttl=HOUR)
    memory.consolidate()
    (fact,) = memory.facts.list()
    if protect == "freeze":
        memory.governance.freeze(fact.id)
    else:
        hold = memory.governance.hold(reason="a case", memory=fact.id)
    world.clock.advance(hours=2)
    memory.jobs.run()
    assert page in ids(world)
    if protect == "freeze":
        memory.governance.thaw(fact.id)
    else:
        memory.governance.release(hold.id)
    world.clock.advance(hours=1)
    memory.jobs.run()
    assert page not in ids(world)
    assert memory.facts.list() == []


def test_the_job_survives_a_restart_and_a_second_process_does_it_once(world: World) -> None:
    first = world.open(**SMALL)
    page = first.add("🎲 The zanzibarquux.", ttl=HOUR)
    first.close()
    world.clock.advance(hours=1)
    one, two = world.open(**SMALL), world.open(**SMALL)
    assert two.search("zanzibarquux", strategy=Strategy.BM25).hits == ()
    one.jobs.run()
    two.jobs.run()
    assert page not in ids(world)
    with world.vault.read(ANN) as reader:
        assert sum(event.cube_id == page and event.operation.value == "delete" for event in reader.events()) == 1


def test_what_was_swept_does_not_come_back(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲\nfact: Ann has a zanzibarquux", ttl=HOUR, idempotency_key="the call")
    fill(memory, 3)
    world.extract()
    assert world.cubes(Kind.FACT)
    world.clock.advance(hours=1)
    memory.jobs.run()
    memory.upkeep.repair()
    memory.upkeep.rebuild()
    world.extract()
    assert memory.add("🎲\nfact: Ann has a zanzibarquux", ttl=HOUR, idempotency_key="the call") == page
    memory.jobs.run()
    assert page not in ids(world)
    assert world.cubes(Kind.FACT) == []


def test_an_expired_memory_is_removed_though_its_state_says_so_twice(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲", ttl=HOUR)
    assert memory.governance.expire(page).state is State.EXPIRED
    memory.jobs.run()
    assert page not in ids(world)
    world.clock.advance(hours=1)
    memory.jobs.run()
    assert set(sweeps(memory)) == {JobState.DONE}


def test_a_memory_expires_though_the_job_that_removes_it_comes_before_the_call_ends(world: World, monkeypatch) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲")

    def remove(*_: object) -> None:
        with suppress(NotFound):  # the job itself was faster
            memory._engine.corrector(memory.scope).delete(page)

    monkeypatch.setattr(Copies, "delete", remove)
    expired = memory.governance.expire(page)
    assert (expired.id, expired.state) == (page, State.EXPIRED)
    assert page not in ids(world)


def conversation(turns: int) -> Conversation:
    told = tuple(Turn(role=Role.USER, text=f"🎲 number {number}", source_id=f"D1:{number}") for number in range(turns))
    return Conversation(user="ann", agent="default", sessions=(Session("one", told),))


def test_an_import_of_the_same_conversation_brings_nothing_back(world: World) -> None:
    memory = world.open(**SMALL)
    store = MemoryOS(memory._engine)
    memory.governance.retain("all", ttl=HOUR)
    assert load_conversation(store, conversation(4)).turns == 4
    world.clock.advance(hours=1)
    memory.jobs.run()
    assert world.cubes(Kind.PAGE) == []
    again = load_conversation(store, conversation(6))
    assert (again.turns, again.known) == (2, 4)
    assert [cube.descriptive.source_ids for cube in world.cubes(Kind.PAGE)] == [("D1:4",), ("D1:5",)]
    assert memory.pages.swept(["D1:0", "D1:5", "else"]) == ["D1:0"]
    memory.forget()
    assert memory.pages.swept(["D1:0"]) == []
