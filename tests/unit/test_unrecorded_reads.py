"""Reads of which the audit log only has the number."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from memoryos.caller import SYSTEM, Action
from memoryos.infrastructure.vault.audit_entry import Decision, Deed
from memoryos.operation.calls import unrecorded_reads
from memoryos.operation.calls.unrecorded_reads import UnrecordedReads
from memoryos.scope import Scope

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def read_of(user: str) -> Deed:
    return Deed(Scope(user=user), NOW, SYSTEM, Action.READ, "memory.search")


def told(reads: UnrecordedReads) -> dict[str | None, str]:
    return {deed.scope.user if deed.scope else None: deed.context["times"] for deed in reads.counted(NOW)}


def test_only_reads_that_were_allowed_are_counted_and_told_once():
    reads = UnrecordedReads()
    assert reads.drop(read_of("ann"))
    assert not reads.drop(replace(read_of("ann"), action=Action.WRITE))
    assert not reads.drop(replace(read_of("ann"), decision=Decision.REFUSED))
    assert told(reads) == {"ann": "1"}
    assert told(reads) == {}


def test_one_of_which_an_entry_tells_after_all_is_not_counted(monkeypatch):
    monkeypatch.setattr(unrecorded_reads, "MOST_OWNERS", 1)
    reads = UnrecordedReads()
    for user in ("ann", "ann", "bob", "eve"):
        reads.drop(read_of(user))
    reads.take_back(read_of("ann"))
    reads.take_back(read_of("eve"))
    assert told(reads) == {"ann": "1", None: "1"}
    reads.take_back(read_of("ann"))
    assert not reads.has_counted
