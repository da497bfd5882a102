"""What is done under the write lock: its steps stay as long as they are when a scope grows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memoryos import MemoryOS

from .work import locks_of
from .world import World

SAME = 1.5  # times as much work, at most, for twice as large a scope: it does not depend on the size
LINEAR = 2.8  # a little more than twice as much


def towns(count: int) -> str:
    return "\n".join(f"fact: Tom lives in Town{number}." for number in range(count))


def taught(world: World, text: str, path: str) -> tuple[MemoryOS, str]:
    """A memory that has learned what one page says."""
    memory = world.open(path, short_term_capacity=1)
    page = memory.add(text)
    memory.add("🚲 bye")
    return memory, page


def learned(world: World, count: int) -> list[int]:
    taught(world, towns(count), f"learn-{count}.db")
    with locks_of(world.vault) as taken:
        world.extract()
    return taken


def deleted(world: World, count: int) -> list[int]:
    memory, page = taught(world, towns(count), f"delete-{count}.db")
    world.extract()
    with locks_of(world.vault) as taken:
        memory.delete(page)
    return taken


def deleted_of_segment(world: World, count: int) -> list[int]:
    """One page of a segment that has many, in one chain."""
    memory = world.open(f"segment-{count}.db", short_term_capacity=1)
    pages = [MemoryOS.add(memory, f"🍵 tea {number}") for number in range(count)]
    memory.add("🚲 bye")
    with locks_of(world.vault) as taken:
        memory.delete(pages[0])
    return taken


def deleted_segment(world: World, count: int) -> list[int]:
    memory = world.open(f"whole-{count}.db", short_term_capacity=1)
    for number in range(count):
        MemoryOS.add(memory, f"🍵 tea {number}")
    memory.add("🚲 bye")
    (segment,) = memory.segments()
    with locks_of(world.vault) as taken:
        memory.delete(segment.cube.id)
    return taken


def updated(world: World, count: int) -> list[int]:
    memory, page = taught(world, towns(count), f"update-{count}.db")
    world.extract()
    with locks_of(world.vault) as taken:
        memory.update(page, "fact: Tom lives in Rome.")
    return taken


@pytest.mark.parametrize("work", [learned, deleted, deleted_of_segment, deleted_segment, updated])
def test_a_step_under_the_lock_does_not_grow_with_the_scope(world: World, work: Callable[[World, int], list[int]]):
    work(world, 2)  # what is compiled and cached once
    few, many = work(world, 80), work(world, 160)
    assert max(many) < SAME * max(few)


@pytest.mark.parametrize("work", [learned, deleted, deleted_segment, updated])
def test_all_steps_together_grow_with_the_scope_and_no_faster(world: World, work: Callable[[World, int], list[int]]):
    work(world, 2)
    few, many = work(world, 80), work(world, 160)
    assert sum(many) < LINEAR * sum(few)
