"""What is frozen stays as it is, whatever the program does beside it, until it is thawed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import Kind, MemCube, Memory, MemoryOS, Role, Scope, Turn
from memoryos.errors import CubeProtected, NotFound
from memoryos.kinds import State, Tier
from memoryos.operation.hierarchy.changes import Changes

from .world import ANN, World

SMALL = {"short_term_capacity": 2, "mid_term_capacity": 2, "knowledge_capacity": 3, "heat_threshold": 10**6}


def stored(memory: Memory, cube_id: str) -> MemCube:
    with memory._engine.vault.read(ANN) as reader:
        return reader.get([cube_id])[cube_id]


def said(cube: MemCube) -> tuple[object, ...]:
    """What a frozen memory keeps."""
    payload = cube.payload.turns if cube.kind is Kind.PAGE else cube.payload
    return (payload, cube.descriptive, cube.governance, cube.version, cube.state)


def fill(memory: Memory, pages: int) -> None:
    for number in range(pages):
        memory.add("🍵🚲🌙🍞🚂"[number % 5])
    memory.wait()


def test_a_frozen_page_is_not_changed_deleted_or_evicted_and_is_still_found(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.")
    before = said(memory.governance.freeze(page))
    fill(memory, 20)
    with pytest.raises(CubeProtected, match=page):
        memory.update(page, "It is elsewhere.")
    with pytest.raises(CubeProtected, match=page):
        memory.delete(page)
    assert said(stored(memory, page)) == before
    assert stored(memory, page).tier is Tier.MTM
    assert page in [hit.id for hit in memory.search("zanzibarquux").hits]
    assert len(world.cubes(Kind.PAGE)) == 21


def test_a_frozen_segment_takes_no_page_and_stays_in_mtm(world: World) -> None:
    memory = world.open(**SMALL)
    fill(memory, 4)
    segment = memory.segments.list()[0].cube
    before = said(memory.governance.freeze(segment.id))
    fill(memory, 20)
    memory.upkeep.repair()
    assert said(stored(memory, segment.id)) == before
    assert stored(memory, segment.id).tier is Tier.MTM
    with pytest.raises(CubeProtected, match=segment.id):
        memory.delete(segment.id)
    with pytest.raises(CubeProtected, match=segment.id):
        memory.upkeep.rebuild()
    memory.governance.thaw(segment.id)
    memory.upkeep.rebuild()


def test_a_page_that_a_frozen_segment_holds_is_not_deleted(world: World) -> None:
    memory = world.open(**SMALL)
    fill(memory, 4)
    segment = memory.segments.list()[0]
    memory.governance.freeze(segment.cube.id)
    with pytest.raises(CubeProtected, match=segment.cube.id):
        memory.delete(segment.page_ids[0])
    assert stored(memory, segment.page_ids[0])


def test_a_frozen_fact_outlives_the_capacity_and_a_rebuild(world: World) -> None:
    memory = world.open(**SMALL)
    memory.add("I have a zanzibarquux.")
    memory.consolidate()
    (fact,) = memory.facts.list()
    before = said(memory.governance.freeze(fact.id))
    for thing in ("cello", "boat", "drum", "kite", "loom"):
        memory.facts.add(f"Ann owns a {thing}.")
    memory.add("I have a zanzibarquux.")
    memory.consolidate()
    memory.upkeep.rebuild()
    assert said(stored(memory, fact.id)) == before
    assert stored(memory, fact.id).tier is Tier.LPM


def test_what_contradicts_a_frozen_fact_is_proposed_and_can_be_accepted_when_it_is_thawed(world: World) -> None:
    memory = world.open(**SMALL)
    oslo = memory.facts.add("The user lives in Oslo.")
    before = said(memory.governance.freeze(oslo))
    memory.facts.add("The user lives in Bergen.")
    (proposal,) = memory.proposals.list()
    with pytest.raises(CubeProtected, match=oslo):
        memory.proposals.accept(proposal.id)
    assert said(stored(memory, oslo)) == before
    memory.governance.thaw(oslo)
    memory.proposals.accept(proposal.id)
    assert [fact.text for fact in memory.facts.list()] == ["The user lives in Bergen."]


def test_a_frozen_fact_is_said_again_and_nothing_happens(world: World) -> None:
    memory = world.open(**SMALL)
    oslo = memory.facts.add("The user lives in Oslo.")
    before = said(memory.governance.freeze(oslo))
    assert memory.facts.add("The user lives in Oslo.") == oslo
    with pytest.raises(CubeProtected, match=oslo):
        memory.facts.add("The user lives in Oslo.", tags=["home"])
    assert said(stored(memory, oslo)) == before


def test_a_fact_that_replaced_a_frozen_one_is_not_deleted_for_the_frozen_one_would_hold_again(world: World) -> None:
    memory = world.open(**SMALL)
    oslo = memory.facts.add("The user lives in Oslo.")
    bergen = memory.facts.add("The user lives in Bergen.")
    before = said(memory.governance.freeze(oslo))
    with pytest.raises(CubeProtected, match=oslo):
        memory.delete(bergen)
    assert said(stored(memory, oslo)) == before
    assert memory.governance.thaw(oslo).state is State.MERGED
    memory.delete(bergen)
    assert [fact.id for fact in memory.facts.list()] == [oslo]


def test_a_frozen_profile_field_is_not_set(world: World) -> None:
    memory = world.open(**SMALL)
    field = memory.profile.set("location", "Oslo")
    memory.governance.freeze(field)
    with pytest.raises(CubeProtected, match=field):
        memory.profile.set("location", "Bergen")
    assert stored(memory, field).text == "location: Oslo"


def test_a_page_that_a_frozen_fact_rests_on_is_neither_deleted_nor_changed(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("I have a cello.")
    memory.consolidate()
    (fact,) = memory.facts.list()
    memory.governance.freeze(fact.id)
    for change in (lambda: memory.delete(page), lambda: memory.update(page, "I have a drum.")):
        with pytest.raises(CubeProtected, match=f"{fact.id}, which depends on it"):
            change()
    assert [one.id for one in memory.facts.list()] == [fact.id]


def test_nobody_is_forgotten_while_something_is_frozen(world: World) -> None:
    memory = world.open(**SMALL)
    fill(memory, 3)
    page = memory.add("🎲")
    memory.governance.freeze(page)
    with pytest.raises(CubeProtected, match=f"frozen: the memory {page}; nothing"):
        memory.forget()
    with pytest.raises(CubeProtected, match="frozen"):
        MemoryOS(memory._engine).admin.forget("ann")
    assert len(world.cubes(Kind.PAGE)) == 4
    memory.governance.thaw(page)
    assert memory.forget().memories["page"] == 4


def test_a_session_that_a_frozen_fact_rests_on_is_not_forgotten_in_part(world: World) -> None:
    memory = world.open(**SMALL, scope=Scope(user="ann", session="monday"))
    pages = [memory.add("🍵"), memory.add("I have a cello."), memory.add("🚲")]
    memory.consolidate()
    (fact,) = memory.facts.list()
    memory.governance.freeze(fact.id)
    with pytest.raises(CubeProtected, match=fact.id):
        memory.forget()
    assert {page.id for page in world.cubes(Kind.PAGE)} == set(pages)
    memory.governance.thaw(fact.id)
    assert memory.forget().memories["page"] == 3


def test_an_agent_whose_pages_support_a_frozen_fact_of_a_shared_persona_is_not_forgotten_in_part(world: World) -> None:
    memory = world.open(**SMALL, persona_sharing="user")
    memory.add("🍵")
    memory.add("I have a cello.")
    memory.consolidate()
    (fact,) = memory.facts.list()
    memory.governance.freeze(fact.id)
    before = world.cubes(Kind.PAGE)
    with pytest.raises(CubeProtected, match=fact.id):
        memory.forget()
    assert world.cubes(Kind.PAGE) == before
    memory.governance.thaw(fact.id)
    assert memory.forget().memories["page"] == 2


def test_a_frozen_segment_that_is_the_coldest_is_looked_at_once_in_a_step(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = world.open(**SMALL)
    memory.add("🎲")
    fill(memory, 2)
    segment = memory.segments.list()[0].cube.id
    memory.governance.freeze(segment)
    read, members = [], Changes.members
    monkeypatch.setattr(Changes, "members", lambda self, name: read.append(name) or members(self, name))
    memory.add_many([Turn(role=Role.USER, text="🍵🚲🌙🍞🚂"[number % 5]) for number in range(15)])
    assert 0 < read.count(segment) < 5
    assert len(memory.segments.list()) <= SMALL["mid_term_capacity"] + 1


def test_a_rebuild_keeps_a_frozen_page_and_finds_it_a_segment(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.")
    fill(memory, 6)
    before = said(memory.governance.freeze(page))
    memory.upkeep.rebuild()
    assert said(stored(memory, page)) == before
    assert page in [one for view in memory.segments.list() for one in view.page_ids]


def test_what_is_frozen_does_not_expire(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.", ttl=timedelta(hours=1))
    memory.governance.freeze(page)
    world.clock.advance(hours=2)
    assert page in [hit.id for hit in memory.search("zanzibarquux").hits]
    assert page in [one.id for one in memory.pages.list()]
    memory.governance.thaw(page)
    assert page not in [hit.id for hit in memory.search("zanzibarquux").hits]
    assert page not in [one.id for one in memory.pages.list()]


def test_what_has_expired_is_not_shown_and_never_comes_back(world: World) -> None:
    memory = world.open(**SMALL, jobs="worker")  # or it is soon removed
    page = memory.add("🎲 The zanzibarquux is under the mat.")
    assert memory.governance.expire(page).state is State.EXPIRED
    assert len(memory.search("zanzibarquux").hits) == 0
    for act in (memory.governance.freeze, memory.governance.thaw, memory.governance.expire):
        with pytest.raises(NotFound):
            act(page)


def test_use_activates_and_transitions_tell_when_by_whom_and_why(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.")
    memory.search("zanzibarquux")
    memory.add("🍵")
    memory.wait()
    assert memory.get(page).state is State.ACTIVATED
    world.clock.advance(hours=1)
    memory.governance.freeze(page, reason="a court asked for it")
    memory.governance.thaw(page)
    told = [(one.before, one.after, one.by, one.cause) for one in memory.governance.transitions(page)]
    assert told[1:] == [
        (State.ACTIVATED, State.FROZEN, "ann", "a court asked for it"),
        (State.FROZEN, State.ACTIVATED, "ann", "thaw"),
    ]
    assert told[0][:2] == (State.GENERATED, State.ACTIVATED)
    assert told[0][3] == "visit"
    assert memory.governance.transitions(page)[1].at == world.clock.now


def test_an_unknown_memory_is_not_frozen(world: World) -> None:
    memory = world.open(**SMALL)
    for act in (memory.governance.freeze, memory.governance.thaw, memory.governance.expire):
        with pytest.raises(NotFound):
            act("nobody")
