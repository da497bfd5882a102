"""Rota: the order in which owners are served, so that one owner's flood of work does not block others.

Tenants take turns, and so do the owners in each tenant. The next one is the one served least recently, then the one
that came first. A newcomer comes after those that wait, and before those that were served since.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from threading import Lock

from memoryos.scope import Scope

KEPT = 50_000  # owners whose last turn is remembered, at least


class Rota:
    """Records when owners were served. Threads may share it; each process has its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._turns = 0
        self._ranks: dict[Hashable, float] = {}  # of tenants and owners: their last turn, or before which they came

    def ordered(self, owners: Iterable[Scope]) -> list[Scope]:
        """The waiting owners in the order of service."""
        with self._lock:
            ranks = {owner: (self._rank(owner.tenant), self._rank(owner)) for owner in owners}
        return sorted(ranks, key=ranks.__getitem__)

    def served(self, owner: Scope) -> None:
        """Record that this owner was served."""
        with self._lock:
            self._turns += 1
            for name in (owner.tenant, owner):
                self._ranks.pop(name, None)  # the owners served longest ago come first and are dropped first
                self._ranks[name] = self._turns
            self._forget()

    def _rank(self, name: Hashable) -> float:
        return self._ranks.setdefault(name, self._turns - 0.5)

    def _forget(self) -> None:
        if len(self._ranks) > 2 * KEPT:
            self._ranks = dict(list(self._ranks.items())[-KEPT:])
