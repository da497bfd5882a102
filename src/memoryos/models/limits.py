"""Limits: how many calls of a model run at once, and how fast they follow each other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock


class Limits:
    """At most `at_once` calls in flight, at most `per_minute` begun in a minute, evenly spaced."""

    def __init__(self, at_once: int, per_minute: float | None = None) -> None:
        self._room = BoundedSemaphore(at_once)
        self._pause = 60.0 / per_minute if per_minute else 0.0
        self._lock = Lock()
        self._next = 0.0  # when the next call may begin, by the monotonic clock

    @contextmanager
    def call(self) -> Iterator[None]:
        """Wait for room, and keep it for the block."""
        with self._room:
            time.sleep(self._wait())
            yield

    def _wait(self) -> float:
        """Seconds until this call may begin; its place is taken."""
        if not self._pause:
            return 0.0
        with self._lock:
            begin = max(self._next, time.monotonic())
            self._next = begin + self._pause
        return max(0.0, begin - time.monotonic())
