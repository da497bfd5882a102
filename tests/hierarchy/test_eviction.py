"""MTM overflow: the coldest segment goes to the archive with its pages, and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from memoryos import Memory, Role, Strategy, Tier, Turn
from memoryos.infrastructure.vault.records import Entry, Operation
from memoryos.infrastructure.vault.session import SqlWriter
from memoryos.infrastructure.vault.soundness import verify
from memoryos.kinds import Kind
from memoryos.operation.paging import pager
from memoryos.operation.paging.departure import DEPARTURES, Departure

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


def a_large_segment(world: World, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Ten pages of one topic, of which four leave MTM in one step."""
    monkeypatch.setattr(pager, "ARCHIVED_AT_ONCE", 4)
    memory = world.open(short_term_capacity=1, mid_term_capacity=1)
    for number in range(10):
        memory.add(f"🍵 tea {number}", at=START - timedelta(days=999))
    memory.add("🚲 bike")
    world.extract()
    return memory


def test_a_large_segment_leaves_before_its_pages_which_follow_in_steps(world: World, monkeypatch):
    """All went in one step: 1,000 pages took 88 ms of CPU under the lock."""
    memory = a_large_segment(world, monkeypatch)
    moved, update = list[int](), SqlWriter.update

    def counting(writer: SqlWriter, entries: Sequence[Entry], operation: Operation, **more: Any) -> None:
        if archived_now := [entry for entry in entries if entry.cube.tier is Tier.ARCHIVE]:
            moved.append(sum(entry.cube.kind is Kind.PAGE for entry in archived_now))
        update(writer, entries, operation, **more)

    monkeypatch.setattr(SqlWriter, "update", counting)
    memory.add("🌙 moon")
    assert archived(memory) == ["tea"]
    memory.wait()
    assert moved == [4, 4, 2]
    assert memory.pages.count(tier=Tier.ARCHIVE) == 10
    assert verify(world.vault).is_sound


def test_pages_on_their_way_follow_after_a_crash_except_one_that_is_gone_or_frozen(world: World, monkeypatch):
    memory = a_large_segment(world, monkeypatch)
    go_on = Departure.go_on

    def die(self: Departure, limit: int) -> int:
        if self:
            raise KeyboardInterrupt
        return go_on(self, limit)

    pages = [page.id for page in memory.pages.list()]
    with monkeypatch.context() as dying:
        dying.setattr(Departure, "go_on", die)
        with pytest.raises(KeyboardInterrupt):
            memory.add("🌙 moon")
            memory.wait()
    with world.vault.read(ANN) as reader:
        tiers = [cube.tier for cube in reader.get(pages[:10]).values()]
    assert tiers.count(Tier.ARCHIVE) == 4
    assert verify(world.vault).is_sound
    memory.delete(pages[3])  # the one that followed last
    memory.governance.freeze(pages[9])
    memory.add("🍞 bread")
    memory.wait()
    with world.vault.read(ANN) as reader:
        left, departures = reader.get(pages[:10]), DEPARTURES.of(reader)
    assert departures == {}
    assert [page for page, cube in left.items() if cube.tier is Tier.MTM] == [pages[9]]
    assert len(left) == 9
