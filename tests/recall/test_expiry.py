"""What has expired is not found: in no strategy, in no list, in no context."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import memoryos
from memoryos import Kind, MemCube, Memory, Strategy, load_settings
from memoryos.cube import Governance, Lifespan
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.kinds import State

EVERYTHING = ["page", "fact", "trait", "profile", "segment"]
LISTS = ("hits", "turns", "recent", "user_facts", "agent_facts", "profile", "traits", "segments")


@pytest.fixture
def memory(tmp_path: Path, clock) -> Iterator[Memory]:
    """Something in every list."""
    knobs = load_settings(embedder="hashing", short_term_capacity=2, heat_threshold=1000)
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=knobs, clock=clock) as opened:
        for text in ("I am Ann and I love green tea.", "I drink tea at noon.", "Tea again?", "No tea tonight."):
            opened.add(text, "I will remember that you like tea.")
        opened.consolidate()
        opened.facts.add("Ann drinks tea")
        opened.facts.add("The agent knows tea", subject="agent")
        opened.profile.set("drink", "tea")
        yield opened


def change(memory: Memory, cubes: list[MemCube], operation: Operation = Operation.MOVE, **fields: object) -> None:
    with memory._engine.vault.write(cubes[0].scope) as writer:
        writer.update([Entry(replace(cube, **fields)) for cube in cubes], operation)


def cubes(memory: Memory) -> list[MemCube]:
    with memory._engine.vault.read(memory._scope) as reader:
        return [cube for kind in Kind for cube in reader.cubes(kind)]


def found(memory: Memory, strategy: Strategy) -> set[str]:
    recalled = memory.search("tea", strategy=strategy, kinds=EVERYTHING, pages=50)
    ids = {one.id for name in LISTS if name != "turns" for one in getattr(recalled, name)}
    return ids | {turn.cube.id for turn in recalled.turns}


@pytest.mark.parametrize("operation", [Operation.MOVE, Operation.VISIT, Operation.REFRESH, Operation.REVISE])
def test_each_cube_is_found_until_it_expires(memory: Memory, clock, operation: Operation) -> None:
    everything = {cube.id for cube in cubes(memory) if cube.kind is not Kind.SEGMENT}
    for strategy in Strategy:
        assert everything <= found(memory, strategy), strategy
    lifespan = Lifespan(expires_at=clock() + timedelta(hours=1))
    change(memory, cubes(memory), operation, governance=Governance(lifespan=lifespan))
    clock.advance(minutes=59)
    for strategy in Strategy:
        assert everything <= found(memory, strategy), strategy
    clock.advance(minutes=1)
    for strategy in Strategy:
        assert found(memory, strategy) == set(), strategy
        assert memory.context("tea", strategy=strategy).text == "", strategy


@pytest.mark.parametrize("strategy", Strategy)
def test_an_expired_state_needs_no_moment(memory: Memory, strategy: Strategy) -> None:
    doomed = [cube for cube in cubes(memory) if cube.kind in (Kind.PAGE, Kind.FACT)][::2]
    before = found(memory, strategy)
    change(memory, doomed, state=State.EXPIRED)
    gone = {cube.id for cube in doomed}
    after = found(memory, strategy)
    assert not after & gone
    assert {one for one in before - gone if memory.get(one).kind is not Kind.SEGMENT} <= after


@pytest.mark.parametrize("strategy", Strategy)
def test_a_store_that_is_opened_knows_what_has_expired(
    memory: Memory, tmp_path: Path, clock, strategy: Strategy
) -> None:
    pages = memory.pages.list()
    change(memory, pages[:1], governance=Governance(lifespan=Lifespan(expires_at=clock())))
    change(memory, pages[-1:], state=State.EXPIRED)
    settings = load_settings(embedder="hashing")
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=settings, clock=clock) as other:
        assert found(other, strategy) == found(memory, strategy)
        assert not found(other, strategy) & {pages[0].id, pages[-1].id}


@pytest.mark.parametrize("strategy", Strategy)
def test_what_has_expired_makes_room_for_other_pages(memory: Memory, strategy: Strategy) -> None:
    first = memory.search("tea", strategy=strategy, pages=1).hits[0]
    change(memory, [first.cube], state=State.EXPIRED)
    second = memory.search("tea", strategy=strategy, pages=1).hits
    assert second
    assert first.id not in {hit.id for hit in second}
