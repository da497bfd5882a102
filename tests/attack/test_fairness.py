"""A user who floods the store keeps nobody waiting: counted in jobs, which a scripted model reads over HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from generation.scripted_model import Reply, ScriptedModel, scripted_model
from memoryos import Memory, MemoryOS, Scope, load_settings
from memoryos.bench.scripted_reader import reply

PATIENCE = 60.0  # seconds; nobody waits that long when all is well
CALL_SECONDS = 0.05
AHEAD = 2  # jobs of others that may begin before the one of who comes anew

FLOOD, NEW = Scope(user="flood"), Scope(user="new")


@dataclass
class Flood:
    """Users whose jobs never end: for each page of theirs that the model reads, another comes in."""

    memory: Memory
    flooding: list[Scope]
    new: Scope
    comes_after: int = 3  #: pages that the model read
    comes_back_after: int | None = None  #: pages that it read since the new one's
    read: list[str] = field(default_factory=list)  #: whose pages the model read, in order
    asked: set[tuple[str, str]] = field(default_factory=set)
    came: int | None = None  #: how many had been read when the new one's job was queued
    lock: threading.Lock = field(default_factory=threading.Lock)
    done: threading.Event = field(default_factory=threading.Event)

    def begin(self, pages: int) -> None:
        for number in range(pages):
            for scope in self.flooding:
                self.memory.of(scope).add(f"Page {number} of {scope.user}. I like tea.")
        for scope in self.flooding:
            self.memory.of(scope).segments.list()  # the pages are in their segments, and the jobs in the queue

    def answer(self, request: dict) -> Reply:
        """Read a page, while more come in; after some, the new one comes."""
        page, user = re.search(r"Page (\d+) of (\w+)", request["messages"][-1]["content"]).groups()
        if (page, user) not in self.asked:  # of one page a model is asked several things
            self.asked.add((page, user))
            self._begun(user)
        return Reply((json.dumps(reply(request["messages"])),), delay_seconds=CALL_SECONDS)

    def _begun(self, user: str) -> None:
        with self.lock:  # a worker of several threads asks at once
            self.read.append(user)
            number = len(self.read)
            turns = self.read.count(self.new.user)
        if turns == (1 if self.comes_back_after is None else 2):
            self.done.set()
        elif user != self.new.user:
            self.memory.of(self._scope(user)).add(f"Page {1000 + number} of {user}. I like tea.")
        if number == self.comes_after or (turns == 1 and number == self._comes_back_at):
            self._come()

    def _come(self) -> None:
        for number in range(2):  # the first leaves STM for the second
            self.memory.of(self.new).add(f"Page {len(self.read)}{number} of {self.new.user}. I live in Rome.")
        self.memory.of(self.new).segments.list()  # it is in its segment, and the job in the queue
        self.came = len(self.read)

    @property
    def _comes_back_at(self) -> int | None:
        return self.comes_back_after and self.read.index(self.new.user) + 1 + self.comes_back_after

    def _scope(self, user: str) -> Scope:
        return next(scope for scope in self.flooding if scope.user == user)

    @property
    def ahead(self) -> list[str]:
        """Whose jobs began before the new one's, after that was queued."""
        return self.read[self.came : self.read.index(self.new.user, self.came)]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as server:
        yield server


@pytest.fixture
def opened(tmp_path: Path, model: ScriptedModel) -> Iterator[Callable[..., Memory]]:
    """opened(jobs): a memory in which each page is a job of its own."""
    memories = []

    def make(jobs: str) -> Memory:
        settings = load_settings(
            embedder="hashing",
            extractor="model",
            jobs=jobs,
            short_term_capacity=1,
            segment_threshold=2,
            heat_threshold=0.5,
            self_tuning=False,
            self_repair=False,
            batch_pages=1,
            batch_seconds=0,
            recent_within_seconds=None,
            llm_model="scripted",
            llm_api_key="sk-of-the-test",
            llm_base_url=model.url,
        )
        memories.append(MemoryOS.open(tmp_path / "memory.db", settings=settings))
        return memories[-1]

    yield make
    for memory in reversed(memories):
        memory.close()


@contextmanager
def working(memory: Memory, threads: int) -> Iterator[None]:
    """A worker of the store, as `memoryos worker` runs it."""
    stop = threading.Event()
    worker = threading.Thread(target=memory.admin.work, args=(stop,), kwargs={"threads": threads, "poll_seconds": 0.05})
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


@pytest.mark.once  # the order is made in Python
def test_a_worker_serves_a_new_owner_before_the_third_job_of_one_who_floods(opened, model):
    flood = Flood(opened("worker"), [FLOOD], NEW)
    flood.begin(8)
    model.otherwise = flood.answer
    with working(opened("worker"), threads=1):
        assert flood.done.wait(PATIENCE), f"the new one waits: {flood.read}"
    assert len(flood.ahead) <= AHEAD


def test_a_worker_shares_by_tenant_before_it_shares_by_owner(opened, model):
    crowd = [Scope(user=f"flood{number}", tenant="crowd") for number in range(8)]
    flood = Flood(opened("worker"), crowd, Scope(user="new", tenant="other"))
    flood.begin(2)
    model.otherwise = flood.answer
    with working(opened("worker"), threads=1):
        assert flood.done.wait(PATIENCE), f"the new one waits: {flood.read}"
    assert len(flood.ahead) <= AHEAD


@pytest.mark.once  # the order is made in Python
def test_the_owners_of_a_tenant_take_turns_and_a_newcomer_does_not_wait_for_all_of_them(opened, model):
    owners = [Scope(user=f"flood{number}") for number in range(5)]
    flood = Flood(opened("worker"), owners, NEW, comes_after=len(owners) + 1)
    flood.begin(3)
    model.otherwise = flood.answer
    with working(opened("worker"), threads=1):
        assert flood.done.wait(PATIENCE), f"the new one waits: {flood.read}"
    assert len(set(flood.read[: len(owners)])) == len(owners), "one got a second turn before others had their first"
    assert len(flood.ahead) <= AHEAD


@pytest.mark.once
def test_a_newcomer_does_not_wait_for_the_first_turn_of_each_who_began_to_flood_before_it(opened, model):
    owners = [Scope(user=f"flood{number}") for number in range(12)]
    flood = Flood(opened("worker"), owners, NEW)
    flood.begin(2)
    model.otherwise = flood.answer
    with working(opened("worker"), threads=1):
        assert flood.done.wait(PATIENCE), f"the new one waits: {flood.read}"
    assert len(flood.ahead) <= AHEAD


@pytest.mark.parametrize(
    "tenants",
    [
        pytest.param(["default"], marks=pytest.mark.once),  # the order is made in Python
        [f"tenant{number}" for number in range(8)],
    ],
)
def test_who_was_served_before_does_not_wait_for_a_turn_of_each_who_floods(opened, model, tenants):
    owners = [Scope(user=f"flood{number}", tenant=tenants[number % len(tenants)]) for number in range(8)]
    flood = Flood(opened("worker"), owners, NEW, comes_after=2 * len(owners), comes_back_after=3)
    flood.begin(3)
    model.otherwise = flood.answer
    with working(opened("worker"), threads=1):
        assert flood.done.wait(PATIENCE), f"the one who comes back waits: {flood.read}"
    assert flood.read.count(NEW.user) == 2
    assert len(flood.ahead) <= AHEAD


def test_threads_that_are_all_taken_by_floods_come_to_a_new_owner_as_soon(opened, model):
    crowd = [Scope(user=f"flood{number}", tenant="crowd") for number in range(4)]
    flood = Flood(opened("worker"), crowd, Scope(user="new", tenant="other"))
    flood.begin(4)
    model.otherwise = flood.answer
    with working(opened("worker"), threads=2):
        assert flood.done.wait(PATIENCE), f"the new one waits: {flood.read}"
    assert len(flood.ahead) <= 2 * AHEAD  # of each thread


@pytest.mark.once
@pytest.mark.parametrize("flooding", [[FLOOD], [Scope(user=f"flood{number}", tenant="crowd") for number in range(8)]])
def test_a_process_that_does_its_jobs_itself_shares_likewise(opened, model, flooding):
    flood = Flood(opened("here"), flooding, NEW)
    model.otherwise = flood.answer
    flood.begin(24 // len(flooding))
    assert flood.done.wait(PATIENCE), f"the new one waits: {flood.read}"
    assert len(flood.ahead) <= AHEAD
