"""MTM overflow: the coldest segment goes to the archive with its pages, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos import Memory, Role, Strategy, Tier, Turn
from memoryos.operation.paging import pager

from .world import ANN, AXES, START, World


def archived(memory: Memory) -> list[str]:
    live = {view.cube.id for view in memory.segments.list()}
    return [view.keywords[0] for view in memory.segments.list(archive=True) if view.cube.id not in live]


def test_the_coldest_segment_goes(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=2)
    memory.add("🍵 tea")
    memory.add("🍵 tea")
    memory.add("🚲 bike", at=START - timedelta(days=100))
    memory.add("🌙 moon")
    memory.add("🍞 bread")
    assert archived(memory) == ["bike"]


def test_a_visit_saves_a_segment(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=2)
    memory.add("🍵 tea")
    memory.add("🚲 bike")
    memory.add("🌙 moon")
    memory.search("🍵", pages=1)
    memory.add("🍞 bread")
    assert archived(memory) == ["bike"]


def test_cold_is_judged_now_not_when_the_heat_was_gained(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=2, recency_seconds=60, heat_recency=10)
    memory.add("🍵 tea")
    memory.add("🍵 tea")
    memory.add("🚲 bike")
    world.clock.advance(days=1)
    memory.add("🚲 bike", at=START)
    memory.add("🌙 moon")  # tea and bike both have two old pages; the newer page is fresh
    memory.search("🍵", pages=1)
    memory.add("🍞 bread")
    assert archived(memory) == ["bike"]


def test_the_fresh_segment_stays_although_it_is_the_coldest(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=1)
    for _ in range(3):
        memory.add("🍵 tea")
    memory.add("🚲 bike", at=START - timedelta(days=999))
    memory.add("🌙 moon")
    assert archived(memory) == ["tea"]
    assert [view.keywords[0] for view in memory.segments.list()] == ["bike"]


def test_a_segment_that_awaits_extraction_stays(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=1)
    memory.add("🍵 tea", at=START - timedelta(days=999))
    memory.add("🚲 bike")
    world.queue()
    with world.vault.write(ANN) as writer:  # a slow worker has it: ours must leave it alone
        assert writer.lease(lasting=timedelta(hours=1))
    memory.add("🌙 moon")
    memory.wait()
    assert archived(memory) == []
    assert memory.stats().jobs_waiting == 1
    world.clock.advance(hours=2)
    world.extract()
    memory.add("🍞 bread")
    assert sorted(archived(memory)) == ["bike", "tea"]


def an_archived_page(world: World) -> tuple[Memory, str]:
    memory = world.open(short_term_capacity=1, mid_term_capacity=1)
    page = memory.add("🍵 茶壶 teapot")
    memory.add("🚲 bike")
    memory.add("🌙 moon")
    return memory, page


@pytest.mark.parametrize("query", ["🍵 teapot", "茶壶"])
@pytest.mark.parametrize("strategy", Strategy)
def test_archived_pages_are_found_or_left_out_as_asked(world: World, strategy, query):
    memory, page = an_archived_page(world)
    search = {"query": query, "strategy": strategy}
    assert page not in [hit.id for hit in memory.search(**search, archive=False).hits]
    hit = next(hit for hit in memory.search(**search, archive=True).hits if hit.id == page)
    assert hit.cube.tier is Tier.ARCHIVE
    assert hit.segment


@pytest.mark.parametrize("strategy", Strategy)
def test_the_archive_is_searched_except_as_the_paper_does(world: World, strategy):
    memory, page = an_archived_page(world)
    found = [hit.id for hit in memory.search("🍵 teapot", strategy=strategy).hits]
    assert (page in found) is (strategy is not Strategy.TWO_STAGE)
    assert (page in memory.context("🍵 teapot", strategy=strategy).ids) is (strategy is not Strategy.TWO_STAGE)


def test_nothing_is_lost(world: World):
    memory = world.open(short_term_capacity=2, mid_term_capacity=3)
    ids = [memory.add(f"{AXES[number % len(AXES)]} word{number}") for number in range(30)]
    stats = memory.stats()
    assert [page.id for page in memory.pages.list()] == ids
    assert stats.stm_pages + stats.mtm_pages + stats.archived_pages == 30
    assert stats.mtm_segments == 3
    assert stats.archived_segments > 0
    members = [page for view in memory.segments.list(archive=True) for page in view.page_ids]
    assert sorted(members) == sorted(ids[:-2])


def test_segments_that_waited_for_extraction_together_do_not_go_in_one_step(world: World, monkeypatch):
    """All of them went with the next page: 1,200 pages in one step of a scope of 10,000."""
    monkeypatch.setattr(pager, "ARCHIVED_AT_ONCE", 4)
    memory = world.open(short_term_capacity=1, mid_term_capacity=1)
    for symbol in AXES[:6]:
        memory.add_many([Turn(role=Role.USER, text=f"{symbol} word{number}") for number in range(2)])
        memory.wait()
        world.queue()
        with world.vault.write(ANN) as writer:  # a slow worker has the jobs
            writer.lease(lasting=timedelta(hours=1))
    memory.add(f"{AXES[6]} last")
    assert archived(memory) == []
    world.clock.advance(hours=2)
    world.extract()
    gone = []
    for number in range(3):
        memory.add(f"{AXES[6]} more{number}")
        memory.wait()
        gone.append(memory.stats().archived_pages)
    assert gone == [4, 8, 12]
    assert memory.stats().mtm_segments == 1


def test_one_transaction_can_evict_many(world: World):
    memory = world.open(short_term_capacity=1, mid_term_capacity=2)
    memory.add_many([Turn(role=Role.USER, text=f"{symbol} word{index}") for index, symbol in enumerate(AXES)])
    assert (memory.stats().mtm_segments, memory.stats().archived_segments) == (2, 7)
    assert memory.stats().archived_pages == 7
