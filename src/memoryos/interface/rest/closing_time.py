"""ClosingTime: how long a server that ends may still work, over all that it then does."""

from __future__ import annotations

import time
from collections.abc import Callable

CLOSING = "closing"  #: its name in the state of an application that needs it at its end


class ClosingTime:
    """One deadline for the requests that run, for what they leave behind, and for the store."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._until: float | None = None

    def begin(self) -> None:
        """Begin to end; a second call does nothing."""
        if self._until is None:
            self._until = self._clock() + self._seconds

    @property
    def left(self) -> float:
        """Seconds left: all of them until it begins."""
        return self._seconds if self._until is None else max(0.0, self._until - self._clock())
