"""Caller access: who used the memories of a person, one row for each caller."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memoryos.caller import Action
from memoryos.infrastructure.vault.audit_entry import AuditEntry, Decision
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class CallerAccess(Plain):
    """What one caller did with the memories of a person."""

    caller: str  #: identity of the caller; "memoryos" is the work behind the calls
    reads: int  #: entries of reads that were allowed
    writes: int  #: entries of writes and administration that were allowed
    refused: int  #: entries of what was refused
    failed: int  #: entries of what ended with an error
    memories: int  #: different memories that the entries name
    operations: tuple[str, ...]  #: the methods that were called, by name
    first: datetime  #: time of the first entry
    last: datetime  #: time of the last entry


def accesses(entries: Iterable[AuditEntry]) -> list[CallerAccess]:
    """Sum up entries by caller; the caller of the latest entry comes first."""
    found: dict[str, _CallerUse] = {}
    for entry in entries:
        found.setdefault(entry.caller, _CallerUse(entry.at)).add(entry)
    return sorted((use.told(caller) for caller, use in found.items()), key=lambda one: one.last, reverse=True)


class _CallerUse:
    """The entries of one caller, summed up so far."""

    def __init__(self, first: datetime) -> None:
        self.first = self.last = first
        self.counts = dict.fromkeys(("reads", "writes", "refused", "failed"), 0)
        self.ids: set[str] = set()
        self.operations: set[str] = set()

    def add(self, entry: AuditEntry) -> None:
        self.first, self.last = min(self.first, entry.at), max(self.last, entry.at)
        self.counts[_counted_as(entry)] += 1
        self.ids.update(cube.id for cube in entry.cubes)
        self.operations.add(entry.operation)

    def told(self, caller: str) -> CallerAccess:
        named = tuple(sorted(self.operations))
        return CallerAccess(
            caller, memories=len(self.ids), operations=named, first=self.first, last=self.last, **self.counts
        )


def _counted_as(entry: AuditEntry) -> str:
    if entry.decision is not Decision.ALLOWED:
        return entry.decision.value
    return "reads" if entry.action is Action.READ else "writes"
