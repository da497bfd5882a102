"""Visits: counts of what searches returned, gathered in memory and written in batches.

A read never waits for a write. If the process is killed, only counts are lost.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import datetime
from itertools import islice
from threading import Lock

from memoryos.scope import Scope

FLUSH_AT = 64  # retrieved cubes waiting, of one owner; then they are written beside the caller
AT_A_TIME = 128  # that one transaction writes
CROWD = 32_768  # cubes waiting, of all owners; beyond it those of who waits longest are written, far beyond it dropped
REST_SECONDS = 10.0  # until those of an owner are written again: to write them takes longer than to find them

Counts = dict[str, tuple[int, datetime]]  # cube id -> (times, last time)
_NEARLY = 0.1  # seconds


class VisitLog:
    """Visits not yet written, by owner."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._pending: OrderedDict[Scope, Counts] = OrderedDict()  # the owner who waits longest is first
        self._cubes = 0  # in it
        self._taken: OrderedDict[Scope, float] = OrderedDict()  # when, of owners that rest; the latest last

    def record(self, scope: Scope, ids: Iterable[str], at: datetime) -> bool:
        """Count one visit to each cube; returns whether it is time to write them."""
        with self._lock:
            counts = self._pending.get(scope.owner, {})
            before = len(counts)
            for cube_id in ids:
                times, last = counts.get(cube_id, (0, at))
                counts[cube_id] = (times + 1, max(last, at))
            if counts:
                self._pending[scope.owner] = counts
            self._cubes += len(counts) - before
            while self._cubes > 2 * CROWD:
                self._cubes -= len(self._pending.popitem(last=False)[1])
            return len(counts) >= FLUSH_AT

    def overdue(self) -> Scope | None:
        """The owner whose visits wait longest, if too many wait in all: they are to be written now."""
        with self._lock:
            return next(iter(self._pending)) if self._cubes > CROWD else None

    def rests(self, scope: Scope) -> float:
        """Seconds until the owner's visits should be written."""
        with self._lock:
            left = self._taken.get(scope.owner, -math.inf) + REST_SECONDS - self._clock()
            return left if left > _NEARLY else 0.0

    def hasten(self, scope: Scope) -> None:
        """Write the owner's visits with the next step."""
        with self._lock:
            self._taken.pop(scope.owner, None)

    def waiting(self, scope: Scope) -> int:
        """How many cubes of the owner have visits that wait."""
        with self._lock:
            return len(self._pending.get(scope.owner, ()))

    def take(self, scope: Scope, most: int | None = None) -> Counts:
        """Remove and return the owner's visits, of the cubes that wait longest; the caller writes them."""
        with self._lock:
            counts = self._pending.pop(scope.owner, {})
            self._cubes -= len(counts)
            if most is not None and len(counts) > most:
                self._pending[scope.owner] = left = dict(islice(counts.items(), most, None))
                self._cubes += len(left)
                counts = dict(islice(counts.items(), most))
            if counts:
                self._note_taken(scope.owner)
            return counts

    def give_back(self, scope: Scope, counts: Counts) -> None:
        """Return visits that could not be written."""
        self.hasten(scope)
        for cube_id, (times, last) in counts.items():
            for _ in range(times):
                self.record(scope, [cube_id], last)

    def owners(self) -> list[Scope]:
        """The owners with visits that wait."""
        with self._lock:
            return [owner for owner, counts in self._pending.items() if counts]

    def _note_taken(self, owner: Scope) -> None:
        now = self._clock()
        self._taken[owner] = now
        self._taken.move_to_end(owner)
        while now - next(iter(self._taken.values())) > REST_SECONDS:
            self._taken.popitem(last=False)
