"""Pace: how much of its work a step takes on, after how long the last steps held the lock.

How long a row takes depends on the server and on what else it does. So the next step is half as large when a step was
long, and grows slowly while they are short.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

LONG_SECONDS = 0.04  # of the 0.05 that a step may hold the lock
SHORT_SECONDS = 0.02

_LEAST = 1 / 8  # of the work: what a step costs without any is paid as many times more
_GROWTH = 1.25


class SteadyPace:
    """That of a file: a step takes on all it may, because its time depends on this process alone."""

    def of(self, most: int) -> int:
        """How many of so many a step may take on."""
        return most

    def noted(self) -> AbstractContextManager[None]:
        """A block in which a step works under the lock."""
        return nullcontext()


@dataclass
class Pace(SteadyPace):
    """That of a server, on which each row costs twice as much or more; threads share it."""

    now: Callable[[], float] = time.perf_counter
    share: float = 0.5
    whole: float = 0.5  #: the largest share

    def of(self, most: int) -> int:
        """How many of so many a step may take on."""
        return max(1, round(most * self.share))

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note how long the block takes."""
        since = self.now()
        yield
        self.note(self.now() - since)

    def note(self, seconds: float) -> None:
        """Note how long a step took."""
        if seconds > LONG_SECONDS:
            self.share = max(_LEAST, self.share / 2)
        elif seconds < SHORT_SECONDS:
            self.share = min(self.whole, self.share * _GROWTH)
