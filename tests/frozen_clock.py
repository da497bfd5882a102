"""A clock for tests."""

from __future__ import annotations

from datetime import datetime, timedelta


class FrozenClock:
    """A clock that moves only when it is told to."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **duration: float) -> datetime:
        """Move on by `timedelta(**duration)`; returns the new present."""
        self.now += timedelta(**duration)
        return self.now
