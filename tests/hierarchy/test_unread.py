"""Which pages LPM has read is known of each page, and not by its place among the others."""

from __future__ import annotations

import pytest

from memoryos import Memory
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind
from memoryos.operation.hierarchy.arrangement import Plan, Reason, Rehoming

from .work import carry_out
from .world import ANN, World

QUIET = {"short_term_capacity": 1, "heat_threshold": 10**6, "recent_within_seconds": None, "self_repair": False}
TEA = "🍵 tea kettle"


def opened(world: World) -> Memory:
    return world.open(**QUIET)


def said(memory: Memory, *texts: str) -> list[str]:
    """Pages in one segment; the last page stays in STM."""
    ids = [memory.add(text) for text in texts]
    memory.add("📐")
    memory.wait()
    return ids


def unread(world: World) -> list[str]:
    with world.vault.read(ANN) as reader:
        return [page for one in reader.cubes(Kind.SEGMENT) for page in reader.unread(one.id)]


def counted(world: World) -> int:
    return sum(one.behaviour.interactions for one in world.cubes(Kind.SEGMENT))


@pytest.mark.parametrize("gone", [0, 1, 2, 3])
def test_deleting_a_page_makes_no_other_read_again_or_left_out(world: World, gone: int) -> None:
    memory = opened(world)
    first = said(memory, TEA, TEA)
    world.extract()
    later = said(memory, TEA, TEA)
    pages = [*first, *later]
    memory.delete(pages[gone])
    assert [page for page in unread(world) if page in pages] == [page for page in later if page != pages[gone]]
    assert counted(world) == len(unread(world))


@pytest.mark.parametrize("which", [0, 1])
def test_a_page_that_goes_into_the_middle_of_another_segment_takes_along_whether_it_was_read(
    world: World, which: int
) -> None:
    memory = opened(world)
    read = said(memory, TEA, "🚲 bike", TEA)
    world.extract()
    fresh = said(memory, TEA, "🚲 bike")
    before = set(unread(world))
    assert set(fresh) <= before
    assert not before & set(read)
    tea, bike = (home(world, page) for page in read[:2])
    moved = (read[0], fresh[0])[which]
    with world.vault.write(ANN) as writer:
        carry_out(writer, Plan((Rehoming(moved, tea, bike, Reason.MOVE),)), world.clock())
    assert set(unread(world)) == before
    assert counted(world) == len(before)


def test_each_page_is_extracted_once_though_pages_go_between_two_readings(world: World) -> None:
    memory = opened(world)
    pages = said(memory, *(f"{TEA} {number}" for number in range(6)))
    world.extract()
    memory.delete(pages[0])
    memory.delete(pages[3])
    memory.wait()
    more = said(memory, *(f"{TEA} {number}" for number in range(6, 9)))
    memory.delete(more[1])
    memory.wait()  # else the memory's own thread may take the job that `world.extract` queues
    waiting = unread(world)
    assert not set(waiting) & set(pages)
    assert {more[0], more[2]} <= set(waiting)
    world.extract()
    assert unread(world) == []
    assert counted(world) == 0


def home(world: World, page: str) -> str:
    (link,) = world.links(LinkKind.MEMBER_OF, page)
    return link.target
