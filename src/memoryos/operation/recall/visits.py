"""Visits: counts of what searches returned, gathered in memory and written in batches.

A read never waits for a write. If the process is killed, only counts are lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from threading import Lock

from memoryos.scope import Scope

FLUSH_AT = 64  # retrieved cubes waiting, of one owner; then they are written beside the caller

Counts = dict[str, tuple[int, datetime]]  # cube id -> (times, last time)


class VisitLog:
    """Visits not yet written, by owner."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pending: dict[Scope, Counts] = {}

    def record(self, scope: Scope, ids: Iterable[str], at: datetime) -> bool:
        """Count one visit to each cube; returns whether it is time to write them."""
        with self._lock:
            counts = self._pending.setdefault(scope.owner, {})
            for cube_id in ids:
                times, last = counts.get(cube_id, (0, at))
                counts[cube_id] = (times + 1, max(last, at))
            return len(counts) >= FLUSH_AT

    def take(self, scope: Scope) -> Counts:
        """Remove and return the owner's visits; the caller writes them."""
        with self._lock:
            return self._pending.pop(scope.owner, {})

    def give_back(self, scope: Scope, counts: Counts) -> None:
        """Return visits that could not be written."""
        for cube_id, (times, last) in counts.items():
            for _ in range(times):
                self.record(scope, [cube_id], last)

    def owners(self) -> list[Scope]:
        """The owners with visits that wait."""
        with self._lock:
            return list(self._pending)
