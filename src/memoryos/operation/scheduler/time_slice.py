"""TimeSlice: how long one owner is served while others wait."""

from __future__ import annotations

import time
from collections.abc import Callable

LEAST_SECONDS = 0.05  # many small steps in a turn cost less than many turns


class TimeSlice:
    """Decides before each step whether to go on: at least one step, and more until others wait."""

    def __init__(self, goes_on: Callable[[], bool], others_wait: Callable[[], bool]) -> None:
        self._goes_on = goes_on
        self._others_wait = others_wait
        self._ends_at: float | None = None  # None before the first step

    def __call__(self) -> bool:
        """Whether to go on with this owner."""
        if not self._goes_on():
            return False
        if self._ends_at is None:
            self._ends_at = time.monotonic() + LEAST_SECONDS
            return True
        return time.monotonic() < self._ends_at or not self._others_wait()
