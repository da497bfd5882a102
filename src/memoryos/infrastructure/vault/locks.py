"""What goes along with the write lock of a vault: how long it is held, and that no garbage is collected meanwhile."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hold:
    """One write transaction, from when it had the lock until it let go of it: with the commit."""

    seconds: float
    cpu_seconds: float  #: of its thread


OnLock = Callable[[Hold], None]


def timed(lock: AbstractContextManager[T], on_lock: OnLock | None) -> AbstractContextManager[T]:
    """The same lock, the time of which is told to `on_lock`, if somebody wants to know."""
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


@contextmanager
def uncollected(lock: AbstractContextManager[T]) -> Iterator[T]:
    """The same lock; Python collects no garbage while it is held: that may take longer than what it is held for."""
    is_paused = False
    try:
        with lock as connection:
            is_paused = _collector.pause()
            yield connection
    finally:
        if is_paused:
            _collector.go_on()


class _Collector:
    """Python's collector of garbage, which waits for one holder of a lock at a time: of many it would never run."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._is_paused = False

    def pause(self) -> bool:
        """Let it wait, unless it waits for another or was turned off; whether it does."""
        with self._lock:
            if self._is_paused or not gc.isenabled():
                return False
            gc.disable()
            self._is_paused = True
            return True

    def go_on(self) -> None:
        with self._lock:
            self._is_paused = False
            gc.enable()

    def start_anew(self) -> None:
        """In a forked process, where the thread is gone that made it wait."""
        self._lock = Lock()
        if self._is_paused:
            self.go_on()


_collector = _Collector()

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_collector.start_anew)
