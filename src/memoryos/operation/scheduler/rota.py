"""Rota: the order in which owners are served, so that one owner's flood of work does not block others.

Tenants take turns, and so do the owners in each tenant. The next one is the one served least recently. A newcomer goes
first, so that it need not wait for a job of each owner who floods the store. After a newcomer's turn the others count
by when they came, so that ever new owners take at most every second turn.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from threading import Lock
from typing import TypeVar

from memoryos.scope import Scope

KEPT = 50_000  # tenants and owners whose last turn is remembered, at least

_TENANTS = object()  # the group in which tenants take turns; the owners of a tenant are the group of its name

Rank = tuple[bool, float]
T = TypeVar("T")


class Rota:
    """Records when owners were served. Threads may share it; each process has its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._turns = 0
        self._served: dict[Hashable, float] = {}  # tenants and owners, by their last turn
        self._came: dict[Hashable, float] = {}  # newcomers, by the turn before which they came
        self._gave_newcomer: dict[Hashable, None] = {}  # groups whose last turn went to a newcomer

    def ordered(self, owners: Iterable[Scope]) -> list[Scope]:
        """The waiting owners in the order of service."""
        with self._lock:
            ranks = {owner: (self._rank(owner.tenant, _TENANTS), self._rank(owner, owner.tenant)) for owner in owners}
        return sorted(ranks, key=ranks.__getitem__)

    def served(self, owner: Scope) -> None:
        """Record that this owner was served."""
        with self._lock:
            self._turns += 1
            self._note(owner.tenant, _TENANTS)
            self._note(owner, owner.tenant)
            _forget_oldest(self._served)
            _forget_oldest(self._came)
            _forget_oldest(self._gave_newcomer)

    def _rank(self, name: Hashable, group: Hashable) -> Rank:
        """The place of a tenant or an owner in its group: the lowest rank is served next."""
        if name in self._served:
            return True, self._served[name]
        return group in self._gave_newcomer, self._came.setdefault(name, self._turns - 0.5)

    def _note(self, name: Hashable, group: Hashable) -> None:
        self._gave_newcomer.pop(group, None)
        if name not in self._served:
            self._gave_newcomer[group] = None
        self._came.pop(name, None)
        self._served.pop(name, None)  # so that the names stand in the order of their last turns
        self._served[name] = self._turns


def _forget_oldest(known: dict[Hashable, T]) -> None:
    for name in list(known)[:-KEPT] if len(known) > 2 * KEPT else ():
        del known[name]
