"""Limits: the number of concurrent model calls, and their rate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock


class Limits:
    """At most `at_once` concurrent calls, and at most `per_minute` calls started per minute, evenly spaced."""

    def __init__(self, at_once: int, per_minute: float | None = None) -> None:
        self._room = BoundedSemaphore(at_once)
        self._pause = 60.0 / per_minute if per_minute else 0.0
        self._lock = Lock()
        self._next = 0.0  # when the next call may begin, by the monotonic clock

    @contextmanager
    def call(self) -> Iterator[None]:
        """Wait for a free slot and hold it during the block."""
        with self._room:
            time.sleep(self._wait())
            yield

    def _wait(self) -> float:
        """Reserve the next start time; return the seconds until then."""
        if not self._pause:
            return 0.0
        with self._lock:
            begin = max(self._next, time.monotonic())
            self._next = begin + self._pause
        return max(0.0, begin - time.monotonic())
