"""Place is not life: what moves through the tiers keeps its state, and what has expired stays hidden."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoryos import Kind, MemCube, Memory, Strategy
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import State, Tier

from .world import ANN, World

# Nobody does the jobs, so what has expired is hidden and not removed yet.
SMALL = {
    "short_term_capacity": 2,
    "mid_term_capacity": 2,
    "knowledge_capacity": 3,
    "heat_threshold": 10**6,
    "jobs": "worker",
}


def put(memory: Memory, cube: MemCube, state: State) -> None:
    with memory._engine.vault.write(ANN) as writer:
        writer.update([Entry(replace(cube, state=state))], Operation.REFRESH)


def stored(memory: Memory, cube_id: str) -> MemCube:
    with memory._engine.vault.read(ANN) as reader:
        return reader.get([cube_id])[cube_id]


def shown(memory: Memory, word: str) -> list[str]:
    """The ids and texts that a caller gets to see with that word in them."""
    found = [
        hit.id
        for way in Strategy
        for hit in memory.search(word, strategy=way, archive=True, pages=50).hits
        if word in hit.cube.text
    ]
    listed = [cube.id for cube in (*memory.pages.list(), *memory.facts.list()) if word in cube.text]
    recalled = memory.search(word, pages=50)
    facts = [fact.id for fact in (*recalled.user_facts, *recalled.recent) if word in fact.cube.text]
    return [*found, *listed, *facts, *([word] if word in memory.context(word, tokens=4000).text else [])]


def fill(memory: Memory, pages: int) -> None:
    for number in range(pages):
        memory.add("🍵🚲🌙🍞🚂"[number % 5])
    memory.wait()


@pytest.mark.parametrize("state", [State.EXPIRED, State.FROZEN, State.ACTIVATED])
@pytest.mark.parametrize("before", [0, 3], ids=["from STM", "from MTM"])
def test_a_page_that_moves_keeps_its_state(world: World, state: State, before: int) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.")
    fill(memory, before)
    put(memory, stored(memory, page), state)
    fill(memory, 20)
    now = stored(memory, page)
    home = Tier.MTM if state is State.FROZEN else Tier.ARCHIVE  # what is frozen is not evicted
    assert (now.tier, now.state) == (home, state)


def test_an_expired_page_stays_hidden_whatever_comes_after_it(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.")
    memory.wait()
    assert page in shown(memory, "zanzibarquux")
    put(memory, stored(memory, page), State.EXPIRED)
    assert shown(memory, "zanzibarquux") == []
    fill(memory, 20)
    assert stored(memory, page).tier is Tier.ARCHIVE
    assert shown(memory, "zanzibarquux") == []


def test_an_expired_fact_stays_hidden_when_others_take_its_room(world: World) -> None:
    memory = world.open(**SMALL)
    memory.facts.add("Ann keeps a zanzibarquux.")
    (fact,) = memory.facts.list()
    assert fact.id in shown(memory, "zanzibarquux")
    put(memory, fact, State.EXPIRED)
    assert shown(memory, "zanzibarquux") == []
    for thing in ("cello", "boat", "drum", "kite", "loom"):
        memory.facts.add(f"Ann owns a {thing}.")
    memory.wait()
    assert stored(memory, fact.id).state is State.EXPIRED
    assert shown(memory, "zanzibarquux") == []


def test_a_fact_that_expired_is_learned_again_when_it_is_said_again(world: World) -> None:
    memory = world.open(**SMALL)
    memory.facts.add("Ann keeps a zanzibarquux.")
    (fact,) = memory.facts.list()
    put(memory, fact, State.EXPIRED)
    memory.facts.add("Ann keeps a zanzibarquux.")
    (again,) = memory.facts.list()
    assert (again.text, again.id == fact.id) == (fact.text, False)


def test_an_expired_fact_stays_expired_when_what_took_its_place_goes(world: World) -> None:
    memory = world.open(**SMALL)
    memory.facts.add("The user lives in Oslo.")
    (oslo,) = memory.facts.list()
    put(memory, oslo, State.EXPIRED)
    memory.facts.add("The user lives in Bergen.")
    (bergen,) = memory.facts.list()
    memory.delete(bergen.id)
    assert memory.facts.list() == []
    assert stored(memory, oslo.id).state is State.EXPIRED


def test_a_rebuild_keeps_the_state_of_each_page(world: World) -> None:
    memory = world.open(**SMALL)
    page = memory.add("🎲 The zanzibarquux is under the mat.")
    fill(memory, 6)
    put(memory, stored(memory, page), State.EXPIRED)
    memory.upkeep.rebuild()
    assert stored(memory, page).state is State.EXPIRED
    assert shown(memory, "zanzibarquux") == []


def test_segments_and_pages_are_generated_until_somebody_says_otherwise(world: World) -> None:
    memory = world.open(**SMALL)
    fill(memory, 12)
    cubes = [cube for kind in (Kind.PAGE, Kind.SEGMENT) for cube in world.cubes(kind)]
    assert {cube.tier for cube in cubes} == {Tier.STM, Tier.MTM, Tier.ARCHIVE}
    assert {cube.state for cube in cubes} == {State.GENERATED}
