"""Locks: how long the write lock of a vault is held."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hold:
    """The time of one write transaction from the lock to its release at the commit."""

    seconds: float
    cpu_seconds: float  #: of its thread
    collecting_seconds: float = 0.0  #: of these, what Python spent collecting garbage, which may be anybody's


OnLock = Callable[[Hold], None]


def timed(lock: AbstractContextManager[T], on_lock: OnLock | None) -> AbstractContextManager[T]:
    """The same lock; `on_lock`, if given, is called with its times."""
    return _timed(lock, on_lock) if on_lock else lock


@contextmanager
def _timed(lock: AbstractContextManager[T], on_lock: OnLock) -> Iterator[T]:
    since: tuple[float, float] | None = None
    with _collecting() as collected:
        try:
            with lock as connection:
                collected.clear()
                since = time.perf_counter(), time.thread_time()
                yield connection
        finally:
            if since:
                cpu = time.thread_time() - since[1]  # within the wall time: it begins later and ends earlier
                on_lock(Hold(time.perf_counter() - since[0], cpu, sum(collected)))


@contextmanager
def _collecting() -> Iterator[list[float]]:
    """The CPU time of each garbage collection that this thread runs meanwhile, in seconds."""
    thread, spent, begun = threading.get_ident(), list[float](), [0.0]

    def note(phase: str, _: dict[str, int]) -> None:
        if threading.get_ident() != thread:
            return
        if phase == "start":
            begun[0] = time.thread_time()
        else:
            spent.append(time.thread_time() - begun[0])

    gc.callbacks.append(note)
    try:
        yield spent
    finally:
        gc.callbacks.remove(note)
