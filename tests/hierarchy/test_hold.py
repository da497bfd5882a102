"""Legal holds: nothing on hold is deleted, changed, expired, swept or forgotten until the hold is released."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest

from memoryos import Caller, Kind, Memory, MemoryOS, Scope
from memoryos.caller import SYSTEM, acting
from memoryos.errors import InvalidInput, NotFound, OnHold, StoreCorrupt, TransitionRefused
from memoryos.hold import HeldThing
from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.infrastructure.vault.retention_part import HOLD_KEYS

from .world import ANN, START, World

SMALL = {"short_term_capacity": 2, "mid_term_capacity": 2, "knowledge_capacity": 3, "heat_threshold": 10**6}
HOUR = timedelta(hours=1)


def everything(world: World, scope: Scope = ANN) -> list[object]:
    return [(cube.id, cube.text) for kind in Kind for cube in world.cubes(kind, scope=scope)]


def fill(memory: Memory, pages: int) -> None:
    for number in range(pages):
        memory.add("🍵🚲🌙🍞🚂"[number % 5])


def held_world(world: World, on: HeldThing) -> tuple[Memory, str, str]:
    """A memory with a page that a fact rests on, both stored; the page, or more, is on hold."""
    memory = world.open(**SMALL)
    case = memory.of(Scope(user="ann", session="case"))
    page = case.add("🎲\nfact: Ann has a zanzibarquux", ttl=HOUR)
    fill(memory, 3)
    world.extract()
    assert world.cubes(Kind.FACT)
    chosen = {HeldThing.MEMORY: {"memory": page}, HeldThing.SESSION: {"session": "case"}, HeldThing.OWNER: {}}[on]
    hold = memory.governance.hold(reason="the case of Smith", **chosen)
    assert (hold.on, hold.reason, hold.by, hold.at) == (on, "the case of Smith", "ann", START)
    assert memory.governance.holds() == [hold]
    return memory, page, hold.id


@pytest.mark.parametrize("on", list(HeldThing))
def test_nothing_removes_what_is_on_hold(world: World, on: HeldThing) -> None:
    memory, page, hold = held_world(world, on)
    segment = next(view.cube.id for view in memory.segments.list(archive=True) if page in view.page_ids)
    before, facts = everything(world), {cube.id for cube in world.cubes(Kind.FACT)}
    store = MemoryOS(memory._engine)
    for attempt in (
        lambda: memory.delete(page),
        lambda: memory.delete(segment),
        lambda: memory.update(page, "It was never there."),
        lambda: memory.governance.expire(page),
        lambda: memory.governance.expire(segment),
        lambda: memory.of(Scope(user="ann", session="case")).forget(),
        memory.forget,
        lambda: store.admin.forget("ann"),
        memory.upkeep.rebuild,
    ):
        with pytest.raises(OnHold, match=rf"{hold} \({on.value}, the case of Smith\)"):
            attempt()
        assert everything(world) == before
    world.clock.advance(hours=2)
    memory.jobs.run()
    kept = before if on is HeldThing.OWNER else [one for one in before if one[0] not in facts]
    assert everything(world) == kept, "a fact ends though its page is on hold, unless all of the owner is"
    assert page not in {hit.id for hit in memory.search("zanzibarquux", kinds=["page"]).hits}


@pytest.mark.parametrize("on", list(HeldThing))
def test_what_expired_meanwhile_goes_when_the_hold_is_released(world: World, on: HeldThing) -> None:
    memory, page, hold = held_world(world, on)
    world.clock.advance(hours=2)
    memory.jobs.run()
    memory.governance.release(hold)
    memory.jobs.run()
    assert page not in dict(everything(world))
    assert world.cubes(Kind.FACT) == []
    assert memory.governance.holds() == []
    assert memory.forget().is_complete


def test_a_fact_on_hold_keeps_the_page_that_it_rests_on(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲\nfact: Ann has a zanzibarquux")
    fill(memory, 3)
    world.extract()
    assert world.cubes(Kind.FACT)
    (fact,) = world.cubes(Kind.FACT)
    memory.governance.hold(reason="evidence", memory=fact.id)
    for cube_id in (fact.id, page):
        with pytest.raises(OnHold, match=fact.id):
            memory.delete(cube_id)
    assert fact.id in dict(everything(world))


def test_a_session_on_hold_leaves_others_alone_and_holds_what_comes(world: World) -> None:
    memory = world.open(**SMALL)
    memory.governance.hold(reason="a case", session="case")
    held = memory.of(Scope(user="ann", session="case")).add("🎲")
    free = memory.of(Scope(user="ann", session="tea")).add("🎲")
    memory.delete(free)
    with pytest.raises(OnHold):
        memory.delete(held)


def test_the_work_goes_on_under_a_hold(world: World) -> None:
    memory = world.open(**SMALL)
    memory.governance.hold(reason="a case")
    pages = {memory.add(f"{'🍵🚲🌙🍞🚂'[number % 5]}\nfact: Ann has thing {number}") for number in range(12)}
    world.extract()
    memory.upkeep.repair()
    memory.jobs.run()
    assert pages <= dict(everything(world)).keys()
    assert not [job for job in memory.jobs.list() if job.error]


def test_a_value_on_hold_gives_way_to_a_later_one_and_stays_in_the_history(world: World) -> None:
    memory = world.open(**SMALL)
    field = memory.profile.set("job", "baker")
    assert field is not None
    memory.governance.hold(reason="a case", memory=field)
    memory.profile.set("job", "actor")
    assert [one.text for one in memory.history(field)] == ["job: baker", "job: actor"]
    with pytest.raises(OnHold):
        memory.delete(field)


LABELS: dict[str, dict[str, Any]] = {
    "ttl": {"ttl": HOUR},
    "expires_at": {"expires_at": START + HOUR},
    "title": {"title": "A chart"},
    "source": {"source": "chart.pdf"},
    "tags": {"tags": ["new"]},
    "metadata": {"metadata": {"ward": 7}},
    "sensitivity": {"sensitivity": ["diagnosis"]},
    "access": {"access": "shared"},
}


@pytest.mark.parametrize("said", ["Ann keeps bees", "User lives in Oslo"])
@pytest.mark.parametrize("on", [HeldThing.MEMORY, HeldThing.OWNER])
@pytest.mark.parametrize("told", LABELS)
def test_what_is_said_of_a_fact_does_not_change_one_on_hold(world: World, said: str, on: HeldThing, told: str) -> None:
    memory = world.open(**SMALL)
    fact = memory.facts.add(said, tags=["old"])
    assert fact is not None
    hold = memory.governance.hold(reason="a case", memory=fact if on is HeldThing.MEMORY else None)
    before = memory.get(fact)
    with pytest.raises(OnHold, match=hold.id):
        memory.facts.add(said, **LABELS[told])
    assert memory.get(fact) == before
    assert memory.facts.add(said, tags=["old"]) == fact  # it says no more than is known
    memory.governance.release(hold.id)
    assert memory.facts.add(said, **LABELS[told]) == fact
    assert memory.get(fact) != before


def test_pages_say_again_what_is_on_hold_and_its_labels_stay(world: World) -> None:
    memory = world.open(**SMALL)
    memory.add("🎲\nfact: Ann keeps bees", ttl=HOUR)
    fill(memory, 3)
    world.extract()
    (fact,) = memory.facts.list()
    memory.governance.hold(reason="a case", memory=fact.id)
    page = memory.add("🎲\nfact: Ann keeps bees", ttl=3 * HOUR)
    fill(memory, 3)
    world.extract()
    assert page in memory.get(fact.id).descriptive.provenance
    assert memory.get(fact.id).governance.lifespan == fact.governance.lifespan


def test_another_owner_is_not_on_hold(world: World) -> None:
    memory = world.open(**SMALL)
    memory.governance.hold(reason="a case")
    bob = memory.of(Scope(user="bob"))
    bob.delete(bob.add("🎲"))
    assert bob.forget().is_complete


def test_two_holds_both_count(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲")
    first = memory.governance.hold(reason="one", memory=page)
    second = memory.governance.hold(reason="two")
    memory.governance.release(first.id)
    with pytest.raises(OnHold, match=second.id):
        memory.delete(page)
    memory.governance.release(second.id)
    memory.delete(page)


def test_holds_survive_and_only_callers_place_and_release_them(world: World) -> None:
    memory = world.open(**SMALL)
    hold = memory.governance.hold(reason="a case")
    assert world.open(**SMALL).governance.holds() == [hold]

    def release() -> None:
        with world.vault.write(ANN) as writer:
            writer.retention.release(hold.id)

    with pytest.raises(TransitionRefused, match="background work may not release"):
        acting(SYSTEM, release)
    assert memory.governance.holds() == [hold]


def test_what_is_not_there_cannot_be_held_or_released(world: World) -> None:
    memory = world.open(**SMALL)
    with pytest.raises(NotFound, match="no memory 'nothing'"):
        memory.governance.hold(reason="a case", memory="nothing")
    with pytest.raises(NotFound, match="no legal hold 'nothing'"):
        memory.governance.release("nothing")
    with pytest.raises(InvalidInput, match="memory: is passed together with `session`"):
        memory.governance.hold(reason="a case", memory="a", session="b")
    with pytest.raises(InvalidInput, match="reason"):
        memory.governance.hold(reason=" ")
    assert memory.governance.holds() == []


def test_an_expired_memory_on_hold_is_hidden_from_everything_but_an_export(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("The door code is 1234", ttl=HOUR)
    memory.governance.hold(reason="a case")
    world.clock.advance(hours=2)
    memory.jobs.run()
    for read in (
        lambda: memory.get(page),
        lambda: memory.get(page, as_of=START),
        lambda: memory.history(page),
        lambda: memory.history(page, as_of=START),
        lambda: memory.governance.diff(page, 1),
        lambda: memory.pages.attachments(page),
    ):
        with pytest.raises(NotFound, match=page):
            read()
    assert not memory.search("door").hits and not memory.pages.list()
    exported = StringIO()
    memory.export(exported)
    assert "1234" in exported.getvalue()


def test_a_hold_whose_text_is_damaged_is_named(world: World) -> None:
    """The error named no hold: only how all their keys begin."""
    memory, page, hold = held_world(world, HeldThing.MEMORY)
    key = HOLD_KEYS[0] + hold
    with world.vault.write(ANN) as writer:
        text = writer.note(key) or ""
        writer.write_note(key, text.replace('"at": "', '"at": "no '))
    with pytest.raises(StoreCorrupt, match=key):
        memory.delete(page)


def test_a_page_on_hold_that_expired_unread_stops_no_job(world: World) -> None:
    """Its job came back again and again, until all jobs of its owner waited a minute for a lease."""
    memory = Memory(world.open(recent_within_seconds=3600.0)._engine, ANN, Caller(ANN.user))
    held = memory.add("fact: Ann keeps a zanzibarquux", ttl=HOUR / 2)
    hold = memory.governance.hold(reason="a case", memory=held)
    world.clock.advance(hours=2)
    memory.add("My name is Ulla and I live in Quito.")
    world.clock.advance(hours=2)
    memory.jobs.run()
    assert {job.kind for job in memory.jobs.list() if job.state is not JobState.DONE} == {JobKind.EXPIRE}
    assert any("Quito" in fact.text for fact in memory.facts.list())
    assert "zanzibarquux" not in str(world.cubes(Kind.FACT))
    memory.governance.release(hold.id)
    memory.jobs.run()
    assert held not in {cube.id for cube in world.cubes(Kind.PAGE)}
