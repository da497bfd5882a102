"""Rota: the order in which owners are served, so that one owner's flood of work does not block others.

Tenants take turns, and so do the owners in each tenant. The next one is the one who had the fewest turns of late: so
who comes now and then need not wait for a job of each owner who floods the store, whether it is new or comes back. Of
several who had no turn yet, it is the one who came last: the others may be many, and may all flood the store. After a
turn out of the order in which they wait, the others come in that order: by their last turns, and newcomers by when
they came. So nobody waits forever, and those who go first take at most every second turn.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

from memoryos.scope import Scope

KEPT = 50_000  # tenants and owners whose last turn is remembered, at least
HALF_LIFE = 1_000  # turns after which a turn counts half

_TENANTS = object()  # the group in which tenants take turns; the owners of a tenant are the group of its name
_NEVER = -math.inf

Since = tuple[float, int]  # the last turn, or the one before which a newcomer came, and which of them it was
Rank = tuple[float, Since]


@dataclass(frozen=True, slots=True)
class _Service:
    """The turns that somebody had."""

    last: float  #: the number of the last one
    recent: float  #: how many of late: the logarithm to the base 2, growing with the turns of all in place of fading

    def with_turn(self, number: int) -> _Service:
        now = number / HALF_LIFE
        return _Service(number, now + math.log2(1 + 2 ** (self.recent - now)))


class Rota:
    """Records when owners were served. Threads may share it; each process has its own."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._turns = 0
        self._served: dict[Hashable, _Service] = {}  # tenants and owners, in the order of their last turns
        self._came: dict[Hashable, Since] = {}  # newcomers
        self._arrivals = 0
        self._waits_longest: dict[Hashable, Hashable] = {}  # of each group
        self._was_in_order: dict[Hashable, bool] = {}  # whether the last turn of a group was in the order of waiting
        self._kept: list[dict[Hashable, Any]] = [self._served, self._came, self._waits_longest, self._was_in_order]

    def ordered(self, owners: Iterable[Scope]) -> list[Scope]:
        """The waiting owners in the order of service."""
        members: dict[str, list[Scope]] = {}
        for owner in owners:
            members.setdefault(owner.tenant, []).append(owner)
        with self._lock:
            tenants = self._ranks(_TENANTS, members)
            ranks = {tenant: self._ranks(tenant, some) for tenant, some in members.items()}
        waiting = (owner for some in members.values() for owner in some)
        return sorted(waiting, key=lambda owner: (tenants[owner.tenant], ranks[owner.tenant][owner]))

    def served(self, owner: Scope) -> None:
        """Record that this owner was served."""
        with self._lock:
            self._turns += 1
            self._note(owner.tenant, _TENANTS)
            self._note(owner, owner.tenant)
            for known in self._kept:
                _forget_oldest(known)

    def _ranks(self, group: Hashable, names: Iterable[Hashable]) -> Mapping[Hashable, Rank]:
        """The places of those who wait in a group: the lowest is served next."""
        found = {name: self._rank(name) for name in names}
        self._waits_longest[group] = min(found, key=lambda name: found[name][1], default=None)
        if not self._was_in_order.get(group):
            return {name: (0.0, since) for name, (_, since) in found.items()}
        return {name: _newest_first(rank) for name, rank in found.items()}

    def _rank(self, name: Hashable) -> Rank:
        """How many turns of late, and since which turn it waits."""
        if service := self._served.get(name):
            return service.recent, (service.last, 0)
        self._arrivals += 1
        return _NEVER, self._came.setdefault(name, (self._turns - 0.5, self._arrivals))

    def _note(self, name: Hashable, group: Hashable) -> None:
        before = self._served.pop(name, None)  # so that the names stand in the order of their last turns
        longest = self._waits_longest.pop(group, None)
        went_by_order = self._was_in_order.pop(group, None) is False
        # A newcomer goes before those who were served, unless it was the turn of who waits longest.
        self._was_in_order[group] = longest in (None, name) if before else went_by_order and longest == name
        self._came.pop(name, None)
        self._served[name] = (before or _Service(0, _NEVER)).with_turn(self._turns)


def _newest_first(rank: Rank) -> Rank:
    """The rank, of newcomers in the opposite order."""
    recent, (turn, arrival) = rank
    return (recent, (-turn, -arrival)) if recent == _NEVER else rank


def _forget_oldest(known: dict[Hashable, Any]) -> None:
    for name in list(known)[:-KEPT] if len(known) > 2 * KEPT else ():
        del known[name]
