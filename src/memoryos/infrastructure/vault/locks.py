"""Locks: how long the write lock of a vault is held."""

from __future__ import annotations

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


OnLock = Callable[[Hold], None]


def timed(lock: AbstractContextManager[T], on_lock: OnLock | None) -> AbstractContextManager[T]:
    """The same lock; `on_lock`, if given, is called with its times."""
    return _timed(lock, on_lock) if on_lock else lock


@contextmanager
def _timed(lock: AbstractContextManager[T], on_lock: OnLock) -> Iterator[T]:
    since: tuple[float, float] | None = None
    try:
        with lock as connection:
            since = time.perf_counter(), time.thread_time()
            yield connection
    finally:
        if since:
            cpu = time.thread_time() - since[1]  # within the wall time: it begins later and ends earlier
            on_lock(Hold(time.perf_counter() - since[0], cpu))
