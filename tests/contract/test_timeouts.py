"""Calls that wait, with a timeout: they end in time and say what is left, and what is left goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest

from contract import server
from contract.back_ends import BACK_ENDS
from memoryos import AsyncMemory, AsyncMemoryOS, Job, MemoryOS, Scope, load_settings
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, StillRunning, StorageError
from memoryos.models.chat import Answer, Usage
from memoryos.models.hashing import Hashing

SOON = 60.0  # seconds; nobody waits that long when all is well
SHORT = 0.2

NAMES = ["Ann", "Bob"]
NOTHING = '{"facts": [], "profile": [], "traits": [], "verdicts": [], "topics": []}'


class Thinker:
    """A model of the caller's that answers when it is let."""

    def __init__(self) -> None:
        self.is_asked, self.may_answer = Event(), Event()

    def answer(self, messages: Sequence[Any]) -> Answer:
        self.is_asked.set()
        assert self.may_answer.wait(SOON)
        return Answer(NOTHING, Usage(), "thinker")


@pytest.fixture
def chat() -> Iterator[Thinker]:
    thinker = Thinker()
    yield thinker
    thinker.may_answer.set()


@pytest.fixture
def opened(tmp_path: Path, back_end: str, clock, chat: Thinker) -> Iterator[Callable[[], MemoryOS]]:
    """opened(): the one store; pages of each owner are read by the model as soon as they are there."""
    at_once = {"recent_within_seconds": 0, "batch_seconds": 0, "batch_pages": 1}
    settings = load_settings(embedder="hashing", extractor="model", **at_once)
    made: list[MemoryOS] = []

    def call() -> MemoryOS:
        vault = BACK_ENDS[back_end](tmp_path, clock, embedder=Hashing.name)
        made.append(MemoryOS(Engine(vault, Hashing(), settings=settings, chat=chat, clock=clock)))
        return made[-1]

    yield call
    chat.may_answer.set()
    for store in made:
        store.close()
    server.give_back(tmp_path)


@pytest.fixture
def store(opened: Callable[[], MemoryOS], chat: Thinker) -> MemoryOS:
    """The model reads for one owner of two, and does not end."""
    store = opened()
    for name in NAMES:
        store.memory(name).add("My secret is a kite.")
    assert chat.is_asked.wait(SOON)
    while store._engine.housekeeping.unfinished["pages"]:
        sleep(0.01)
    return store


CALLS: dict[str, Callable[[MemoryOS], object]] = {
    "MemoryOS.wait": lambda store: store.wait(timeout=SHORT),
    "Memory.wait": lambda store: store.memory("Ann").wait(timeout=SHORT),
    "Jobs.run": lambda store: store.memory("Ann").jobs.run(timeout=SHORT),
    "Memory.consolidate": lambda store: store.memory("Ann").consolidate(timeout=SHORT),
    "Upkeep.rebuild": lambda store: store.memory("Ann").upkeep.rebuild(timeout=SHORT),
    "AsyncMemory.consolidate": lambda store: asyncio.run(AsyncMemory(store.memory("Ann")).consolidate(timeout=SHORT)),
    "AsyncMemoryOS.wait": lambda store: asyncio.run(AsyncMemoryOS(store).wait(timeout=SHORT)),
    "AsyncMemory.wait": lambda store: asyncio.run(AsyncMemory(store.memory("Ann")).wait(timeout=SHORT)),
}


@pytest.mark.once
@pytest.mark.parametrize(
    ("running", "told"),
    [
        ({"answers": 0, "pages": 1, "jobs": 0}, "not done after 2 seconds: pages of 1 owner to move; the work goes on"),
        ({"answers": 1, "pages": 0, "jobs": 3}, "2 seconds: 1 answer to store, jobs of 3 owners; the work goes on"),
        ({"answers": 2, "pages": 4, "jobs": 1}, ": 2 answers to store, pages of 4 owners to move, jobs of 1 owner;"),
        ({"answers": 0, "pages": 0, "jobs": 0}, "the background work is not done after 2 seconds; the work goes on"),
    ],
)
def test_only_what_is_left_is_told(running, told):
    assert told in str(StillRunning(2, running, "the work goes on"))
    assert "after 1 second;" in str(StillRunning(1, {}, "the work goes on"))


@pytest.mark.parametrize("name", CALLS)
def test_who_waits_with_a_timeout_is_told_what_is_left(store: MemoryOS, chat: Thinker, name: str):
    with pytest.raises(StillRunning) as told:
        CALLS[name](store)
    assert (told.value.running["answers"], told.value.running["jobs"]) == (0, 2)  # a rebuild has pages to place, too
    assert "jobs of 2 owners" in str(told.value)
    assert "kite" not in str(told.value)
    chat.may_answer.set()
    store.wait(timeout=SOON)
    assert [store.memory(user).stats().jobs_waiting for user in NAMES] == [0, 0]


def test_who_closes_with_a_timeout_leaves_the_rest_to_the_next_process(opened, store: MemoryOS, chat: Thinker):
    with pytest.raises(StillRunning) as told:
        store.close(timeout=SHORT)
    assert told.value.running["jobs"] == 2
    chat.may_answer.set()
    store.close(timeout=SOON)  # the one that ran is finished, and the store released
    again = opened()
    assert [len(again.memory(user).pages.list()) for user in NAMES] == [1, 1]
    for user in NAMES:
        again.memory(user).jobs.run(timeout=SOON)
        assert again.memory(user).stats().jobs_waiting == 0


def test_the_async_twin_closes_in_time_too(store: MemoryOS):
    with pytest.raises(StillRunning):
        asyncio.run(AsyncMemoryOS(store).close(timeout=SHORT))


def test_closing_in_time_is_closing(opened):
    store = opened()
    store.close(timeout=SOON)
    store.close(timeout=SOON)
    with pytest.raises(StorageError, match="closed"):
        store.wait(timeout=SOON)


def test_a_store_with_nothing_left_to_do_closes_at_once(opened):
    store = opened()
    store.memory("Ann").pages.list()
    store.close(timeout=0)
    assert opened().memory("Ann").pages.list() == []


def test_visits_are_written_before_an_idle_store_closes(opened, chat: Thinker):
    store = opened()
    page = store.memory("Ann").add("My secret is a kite.")
    chat.may_answer.set()
    store.wait(timeout=SOON)
    store.memory("Ann").search("kite")
    store.close(timeout=0)
    assert opened().memory("Ann").get(page).behaviour.visits == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda ann: ann.add("I live in Oslo."),
        lambda ann: ann.search("kite"),
        lambda ann: ann.pages.list(),
        lambda ann: ann.wait(),
        lambda ann: ann.__enter__(),
        lambda ann: asyncio.run(AsyncMemory(ann).search("kite")),
    ],
)
def test_a_store_that_began_to_close_takes_no_new_calls(opened, store: MemoryOS, chat: Thinker, call):
    ann = store.memory("Ann")
    with pytest.raises(StillRunning):
        store.close(timeout=SHORT)
    with pytest.raises(StorageError, match="closed"):
        call(ann)
    chat.may_answer.set()
    store.close(timeout=SOON)
    assert len(opened().memory("Ann").pages.list()) == 1


def test_a_job_that_runs_while_the_store_closes_may_use_its_memory(opened):
    store, has_begun, may_go_on = opened(), Event(), Event()

    def act(scope: Scope, job: Job) -> None:
        has_begun.set()
        assert may_go_on.wait(SOON)
        store.of(scope).facts.add("likes tea")

    store.admin.register_job("note", act)
    store.memory("Ann").jobs.add("note")
    assert has_begun.wait(SOON)
    with pytest.raises(StillRunning):
        store.close(timeout=SHORT)
    may_go_on.set()
    store.close(timeout=SOON)
    assert [fact.text for fact in opened().memory("Ann").facts.list()] == ["likes tea"]


def test_a_view_of_a_memory_closes_nothing(store: MemoryOS):
    store.memory("Ann").close(timeout=0)
    assert store.memory("Ann").pages.list()


@pytest.mark.once
@pytest.mark.parametrize("timeout", [-1, float("nan"), "1", True])
def test_a_timeout_is_a_number_of_seconds(opened, timeout):
    store = opened()
    ann = store.memory("Ann")
    for call in (store.wait, store.close, ann.jobs.run, ann.consolidate, ann.upkeep.rebuild):
        with pytest.raises(InvalidInput, match="timeout"):
            call(timeout=timeout)
    store.wait()
