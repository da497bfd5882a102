"""Unrecorded reads: how many reads no entry tells of, because too many entries waited to be written; by owner."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from threading import Lock

from memoryos.caller import SYSTEM, Action
from memoryos.infrastructure.vault.audit_entry import UNRECORDED, Decision, Deed
from memoryos.scope import Scope

MOST_OWNERS = 1_000  # whose reads are counted apart; those of others are counted together


class UnrecordedReads:
    """Counts reads of which only the number will be noted."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = Counter[Scope | None]()

    def drop(self, deed: Deed) -> bool:
        """Count what an entry would tell, if it is a read that was allowed; return whether it is."""
        if deed.action is not Action.READ or deed.decision is not Decision.ALLOWED:
            return False
        with self._lock:
            is_known = deed.scope in self._counts or len(self._counts) < MOST_OWNERS
            self._counts[deed.scope if is_known else None] += 1
        return True

    def take_back(self, deed: Deed) -> None:
        """Count a read less: an entry tells of it after all."""
        with self._lock:
            for scope in (deed.scope, None):
                if self._counts[scope]:
                    self._counts[scope] -= 1
                    break
            self._counts = +self._counts

    @property
    def has_counted(self) -> bool:
        """Whether there are reads that no entry tells of yet."""
        with self._lock:
            return bool(self._counts)

    def counted(self, now: datetime) -> list[Deed]:
        """The entries that tell how many there were since the last call, each in the chain of its owner."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return [_deed(scope, now, count) for scope, count in counts.items()]


def _deed(scope: Scope | None, now: datetime, count: int) -> Deed:
    return Deed(scope, now, SYSTEM, Action.READ, UNRECORDED, context={"times": str(count)})
