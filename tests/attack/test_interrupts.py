"""Interrupts at random moments of a call (Ctrl-C, an alarm): afterwards the memory works and the store is free."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from statistics import median

import pytest

from memoryos import MemoryOS, Role, Turn, load_settings

ROUNDS, LONG_ROUNDS = 20, 800  # for each operation and store
SETTINGS = load_settings(embedder="hashing", busy_timeout_seconds=10.0)
NUMBERS = count()

Operation = Callable[[MemoryOS], object]


class Interrupt(BaseException):
    """What the handler of the signal raises, as Python's own raises KeyboardInterrupt."""


def add(memory: MemoryOS) -> object:
    return memory.add(f"I bought {next(NUMBERS)} apples in Porto.", "How nice!")


def update(memory: MemoryOS) -> object:
    return memory.update(memory.pages()[0].id, f"I bought {next(NUMBERS)} pears in Faro.")


def delete(memory: MemoryOS) -> object:
    return memory.delete(memory.pages()[0].id)


OPERATIONS: dict[str, Operation] = {
    "add": add,
    "search": lambda memory: memory.search("How many apples?"),
    "context": lambda memory: memory.context("How many apples?"),
    "update": update,
    "delete": delete,
    "consolidate": lambda memory: memory.consolidate(),
}


@contextmanager
def alarms() -> Iterator[Callable[[Callable[[], object], float], bool]]:
    """A way to run a call with an alarm after so many seconds; it says whether that interrupted the call."""

    def rings(_number: int, _frame: object) -> None:
        raise Interrupt

    def run(call: Callable[[], object], seconds: float) -> bool:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            call()
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupt:
            return True
        return False

    before = signal.signal(signal.SIGALRM, rings)
    try:
        yield run
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def duration(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@pytest.mark.parametrize("name", OPERATIONS)
def test_after_an_interrupt_the_memory_works_and_the_store_is_free(tmp_path, long, name, record_property):
    chance, rounds = random.Random(name), LONG_ROUNDS if long else ROUNDS
    with (
        MemoryOS.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory,
        MemoryOS.open(tmp_path / "a.db", user="ben", settings=SETTINGS) as other,
    ):
        for _ in range(12):
            add(memory)
        memory.wait()
        usual = median(duration(lambda: OPERATIONS[name](memory)) for _ in range(5))  # not that of a busy moment
        interrupted = 0
        with alarms() as interrupting:
            for _ in range(rounds):
                interrupted += interrupting(lambda: OPERATIONS[name](memory), chance.uniform(0, usual))
                page = add(memory)
                assert memory.get(page).text.startswith("user: I bought")
                assert memory.search("apples").hits
                assert add(other)
        assert interrupted > rounds / 4, "most alarms rang after the call"
        record_property("interrupted", interrupted)
        memory.wait()


def test_a_call_that_was_interrupted_is_finished_before_the_next_one(tmp_path):
    begun, go_on = threading.Event(), threading.Event()

    def slow(done: int, total: int) -> None:
        begun.set()
        assert go_on.wait(30)

    with MemoryOS.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        threading.Thread(target=lambda: begun.wait(30) and os.kill(os.getpid(), signal.SIGUSR1)).start()
        before = signal.signal(signal.SIGUSR1, _interrupt)
        try:
            with pytest.raises(Interrupt):
                memory.add_many([Turn(role=Role.USER, text="I bought a kite.")], progress=slow)
        finally:
            signal.signal(signal.SIGUSR1, before)
        go_on.set()
        assert [page.text for page in memory.pages()] == ["user: I bought a kite."]
        assert memory.search("kite").hits


def _interrupt(_number: int, _frame: object) -> None:
    raise Interrupt


def test_an_error_within_a_call_reaches_the_caller(tmp_path):
    with MemoryOS.open(tmp_path / "a.db", user="ann", settings=SETTINGS) as memory:
        with suppress(SystemExit):
            memory.add_many(leaving())
        assert memory.stats().stm_pages == 0


def leaving() -> Iterator[object]:
    yield from ()
    raise SystemExit(3)
