"""Housekeeping: a write only puts pages into STM; they move behind the caller, and nothing of it is ever lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from functools import partial
from threading import Event, Timer

import pytest

from memoryos import Memory, MemoryOS, Tier
from memoryos.cube import Turn
from memoryos.engine import Engine
from memoryos.infrastructure.vault.records import JobState, Operation
from memoryos.kinds import Kind, Role
from memoryos.lifecycle import CubeMark
from memoryos.operation.maintenance import housekeeping, moves
from memoryos.operation.scheduler import background

from .world import ANN, World

BUSY_SECONDS = 0.2  # until a caller is told that the store is busy

TEXTS = ["🍵 tea one", "🍵 tea two", "🍵 tea three", "🚲 a bike", "🚲 another bike", "🌙 the moon"]


@pytest.fixture
def lazy(world: World, monkeypatch) -> Iterator[Memory]:
    """A memory that is never quiet: nothing moves until somebody asks for it."""
    monkeypatch.setattr(background, "QUIET_SECONDS", 3600)
    monkeypatch.setattr(housekeeping, "PATIENCE_SECONDS", 3600)
    settings = world.open("other.db", short_term_capacity=2).settings
    vault = world.open_vault(busy_timeout_seconds=BUSY_SECONDS)
    with MemoryOS(Engine(vault, world.embedder, settings=settings, clock=world.clock)) as store:
        yield store.of(ANN)


def stored(memory: Memory) -> list[tuple[Tier, CubeMark | None]]:
    """Where the pages lie, without asking for anything to be moved."""
    with memory._engine.vault.read(ANN) as reader:
        return [(page.tier, page.mark) for page in reader.cubes(Kind.PAGE)]


def add_all(memory: Memory) -> list[str]:
    return memory.add_many([Turn(role=Role.USER, text=text) for text in TEXTS])


def test_an_add_only_puts_its_page_into_stm(lazy: Memory):
    add_all(lazy)
    assert stored(lazy) == [(Tier.STM, None)] * len(TEXTS)
    with lazy._engine.vault.read(ANN) as reader:
        assert [event.operation for event in reader.events()] == [Operation.ADD] * len(TEXTS)


def test_a_search_finds_what_has_not_moved_yet_and_shows_the_latest_of_stm(lazy: Memory):
    ids = add_all(lazy)
    found = lazy.search("🍵", pages=3)
    assert {hit.id for hit in found.hits} == set(ids[:3])
    assert [hit.id for hit in found.recent] == ids[-2:]
    assert stored(lazy) == [(Tier.STM, None)] * len(TEXTS)


READS = {
    "wait": lambda memory: memory.wait(),
    "pages of a tier": lambda memory: memory.pages.list(tier=Tier.STM),
    "number of pages of a tier": lambda memory: memory.pages.count(tier=Tier.ARCHIVE),
    "segments": lambda memory: memory.segments.list(),
    "number of segments": lambda memory: memory.segments.count(),
    "stats": lambda memory: memory.stats(),
    "events": lambda memory: memory.log.events(),
    "jobs": lambda memory: memory.jobs.list(),
    "two_stage": lambda memory: memory.search("🍵", strategy="two_stage"),
    "without the archive": lambda memory: memory.search("🍵", archive=False),
    "context of a tier": lambda memory: memory.context("🍵", tiers=["mtm"]),
    "update": lambda memory: memory.update(add_all(memory)[0], "🍵 tea none"),
    "get": lambda memory: memory.get(add_all(memory)[0]),
    "history": lambda memory: memory.history(add_all(memory)[0]),
    "consolidate": lambda memory: memory.consolidate(),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_who_asks_where_pages_lie_finds_each_where_it_belongs(lazy: Memory, read):
    add_all(lazy)
    read(lazy)
    places = stored(lazy)
    assert places[-2:] == [(Tier.STM, CubeMark.CHAINED)] * 2
    assert set(places[:-2]) == {(Tier.MTM, CubeMark.CHAINED)}


ELSEWHERE = {
    "pages": lambda memory: len(memory.pages.list()),
    "first pages": lambda memory: len(memory.pages.list(limit=1)) + 5,
    "number of pages": lambda memory: memory.pages.count(),
    "pages with a filter": lambda memory: len(memory.pages.list(role=Role.USER)),
    "pages as of now": lambda memory: len(memory.pages.list(as_of=memory._engine.clock())),
    "attachments": lambda memory: len(memory.pages.attachments(memory.pages.list()[0].id)) + 6,
    "swept": lambda memory: len(memory.pages.swept(["m1"])) + 6,
    "facts": lambda memory: len(memory.facts.list()) + 6,
    "number of facts": lambda memory: memory.facts.count() + 6,
    "profile": lambda memory: len(memory.profile.get().user.profile) + 6,
    "search": lambda memory: len(memory.search("🍵").hits),
}


@pytest.mark.parametrize("read", ELSEWHERE.values(), ids=ELSEWHERE)
def test_who_does_not_ask_where_pages_lie_waits_for_no_move_and_finds_all_of_them(lazy: Memory, read):
    add_all(lazy)
    assert read(lazy) == len(TEXTS)
    assert stored(lazy) == [(Tier.STM, None)] * len(TEXTS)


def test_moving_in_many_steps_is_the_same_as_in_one(world: World, monkeypatch):
    pictures = []
    for at_a_time in (1, 2, 100):
        monkeypatch.setattr(moves, "AT_A_TIME", at_a_time)
        monkeypatch.setattr(moves, "MANY_AT_A_TIME", at_a_time)
        memory = world.open(f"{at_a_time}.db", short_term_capacity=2, heat_threshold=1000)
        add_all(memory)
        segments = [(view.cube.text, len(view.page_ids), view.cube.payload) for view in memory.segments.list()]
        pictures.append((segments, [(page.text, page.tier, page.payload) for page in memory.pages.list()]))
    assert pictures[0] == pictures[1] == pictures[2]


def test_what_a_dead_process_left_the_next_one_moves(world: World, lazy: Memory):
    add_all(lazy)  # and dies: it never gets to move them
    other = world.open(short_term_capacity=2)
    assert other.pages.count() == 6
    assert [other.pages.count(tier=tier) for tier in (Tier.MTM, Tier.STM)] == [4, 2]
    assert [page.tier for page in other.pages.list()] == [Tier.MTM] * 4 + [Tier.STM] * 2


def test_what_a_dead_process_left_moves_behind_a_call_that_does_not_wait_for_it(world: World, lazy: Memory):
    add_all(lazy)
    other = world.open(short_term_capacity=2)
    assert other.pages.count() == 6
    other.wait()
    assert [tier for tier, _ in stored(other)] == [Tier.MTM] * 4 + [Tier.STM] * 2


def test_an_add_moves_what_another_process_left(world: World, lazy: Memory):
    add_all(lazy)
    other = world.open(short_term_capacity=2)
    other.add("📐 a line")
    assert stored(other) == [(Tier.MTM, CubeMark.CHAINED)] * 5 + [(Tier.STM, CubeMark.CHAINED)] * 2


@pytest.mark.file
def test_a_reader_reads_on_when_the_store_cannot_be_written(world: World, lazy: Memory):
    ids = add_all(lazy)
    with sqlite3.connect(world.folder / "memory.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        assert [page.id for page in lazy.pages.list()] == ids
        assert lazy.segments.list() == []
        other.execute("ROLLBACK")
    assert len(lazy.segments.list()) > 0


def test_who_waits_is_not_told_that_others_kept_the_store_busy(world: World, lazy: Memory):
    add_all(lazy)
    is_held, is_free = Event(), Event()

    def hold() -> None:
        with closing(world.open_vault()) as vault, vault.write(ANN):
            is_held.set()
            is_free.wait()

    with ThreadPoolExecutor() as others:
        holding = others.submit(hold)
        is_held.wait()
        Timer(4 * BUSY_SECONDS, is_free.set).start()
        lazy.wait()
        holding.result()
    assert stored(lazy)[-2:] == [(Tier.STM, CubeMark.CHAINED)] * 2


def test_hot_segments_are_extracted_behind_the_caller(lazy: Memory):
    lazy.add_many([Turn(role=Role.USER, text=f"🍵 I like tea number {number}") for number in range(12)])
    lazy.wait()
    assert [job.state for job in lazy.jobs.list()] == [JobState.DONE]


def test_a_block_that_fails_leaves_the_rest_to_the_next_process(world: World, lazy: Memory):
    with pytest.raises(KeyboardInterrupt), lazy:
        ids = add_all(lazy)
        raise KeyboardInterrupt
    again = world.open(short_term_capacity=2)
    assert stored(again) == [(Tier.STM, None)] * len(TEXTS)
    assert [page.id for page in again.pages.list()] == ids
    assert len(again.segments.list()) > 0
    assert stored(again)[-2:] == [(Tier.STM, CubeMark.CHAINED)] * 2


class Meanwhile:
    """A clock that lets something happen whenever it is asked for the time: also in the middle of a plan."""

    def __init__(self, world: World) -> None:
        self._clock = world.clock
        self.events: list[Callable[[], object]] = []

    def __call__(self) -> datetime:
        if self.events:
            self.events.pop(0)()
        return self._clock()


@pytest.fixture
def disturbed(world: World, lazy: Memory) -> Iterator[tuple[Memory, Meanwhile]]:
    """A memory in whose planning something may happen."""
    clock = Meanwhile(world)
    vault = world.open_vault()
    with MemoryOS(Engine(vault, world.embedder, settings=lazy.settings, clock=clock)) as store:
        yield store.of(ANN), clock


def texts_in_segments(memory: Memory) -> list[str]:
    return sorted(
        memory.get(page).text.removeprefix("user: ") for view in memory.segments.list() for page in view.page_ids
    )


def test_a_plan_that_another_process_overtook_is_made_again(world: World, lazy: Memory, disturbed, caplog):
    memory, clock = disturbed
    ids = add_all(lazy)
    other = world.open(short_term_capacity=2)
    clock.events = [partial(other.delete, ids[1])]
    assert texts_in_segments(memory) == [TEXTS[0], *TEXTS[2:4]]
    assert [view.cube.payload.pages for view in memory.segments.list()] == [2, 1]
    assert not clock.events
    assert not caplog.records, "nothing was put off"


def test_pages_that_come_in_during_a_plan_do_not_spoil_it_and_are_moved_next(
    world: World, lazy: Memory, disturbed, caplog
):
    memory, clock = disturbed
    add_all(lazy)
    clock.events = [partial(lazy.add, "📐 a line")]
    memory.segments.list()
    assert not clock.events
    assert not caplog.records, "nothing was put off"
    assert stored(memory) == [(Tier.MTM, CubeMark.CHAINED)] * 5 + [(Tier.STM, CubeMark.CHAINED)] * 2


def test_what_another_process_corrects_during_a_plan_stays_corrected(world: World, lazy: Memory, disturbed, caplog):
    memory, clock = disturbed
    ids = add_all(lazy)
    other = world.open(short_term_capacity=2)
    clock.events = [partial(other.update, ids[0], "🍵 green tea")]
    memory.segments.list()
    assert not clock.events
    assert not caplog.records, "nothing was put off"
    assert memory.get(ids[0]).text == "user: 🍵 green tea"


CORRECTIONS: dict[str, Callable[[Memory, str], object]] = {
    "delete": lambda memory, page: memory.delete(page),
    "update": lambda memory, page: memory.update(page, "🍵 green tea"),
}


@pytest.mark.parametrize("correct", CORRECTIONS.values(), ids=CORRECTIONS)
def test_a_page_that_finds_its_chain_during_a_correction_keeps_no_word_of_what_went(
    world: World, lazy: Memory, disturbed, correct
):
    """Its chain summary quotes the page before it."""
    memory, clock = disturbed
    page = lazy.add("🍵 the plimpsofrag")
    memory.pages.list()
    other = world.open(short_term_capacity=2)
    quoted = []

    def follow() -> None:
        follower = other.add("🍵 more tea")
        other.pages.list()
        quoted.append(other.get(follower))

    clock.events = [follow]
    correct(memory, page)
    assert not clock.events
    (before,) = quoted
    assert "plimpsofrag" in before.payload.chain_summary
    assert "plimpsofrag" not in memory.get(before.id).payload.chain_summary


def test_visits_of_a_plan_that_failed_are_counted_once(world: World, lazy: Memory, disturbed):
    memory, clock = disturbed
    ids = add_all(lazy)
    memory.segments.list()
    assert [hit.id for hit in memory.search("🍵", pages=1).hits] == ids[:1]
    memory.add("📐 a line")
    clock.events = [partial(world.open(short_term_capacity=2).delete, ids[5])]
    memory.wait()
    assert not clock.events
    assert memory.get(ids[0]).behaviour.visits == 1
