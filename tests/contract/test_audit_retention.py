"""Retention, holds and erasure in the audit log: noted like other operations; the log outlives a person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import select

from memoryos import Caller, Memory, MemoryOS, Scope, load_settings
from memoryos.engine import Engine
from memoryos.errors import NotFound, OnHold
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.audit_entry import AuditEntry
from memoryos.models.hashing import Hashing
from memoryos.operation.calls import audit_trail

ANN = Scope(user="ann")
OFFICER = Caller("officer", frozenset({"legal"}), purpose="case 7")
WORDS = ("zanzibarquux", "velvetmoth", "case of Smith")  # of pages, tags, rules and reasons


@pytest.fixture
def store(vault, clock, monkeypatch) -> Iterator[MemoryOS]:
    monkeypatch.setattr(audit_trail, "WRITE_AFTER", 60)  # a call that takes longer is told when it begins, too
    settings = load_settings(audit=True, jobs="worker", short_term_capacity=2)
    with closing(MemoryOS(Engine(vault, Hashing(), settings=settings, clock=clock))) as store:
        yield store


@pytest.fixture
def memory(store) -> Memory:
    return store.of(ANN, OFFICER)


def noted(store: MemoryOS, operation: str) -> list[AuditEntry]:
    return store.audit.list(limit=None, operation=operation)


def told(entry: AuditEntry) -> tuple:
    return entry.caller, entry.action.value, entry.change, [cube.id for cube in entry.cubes], entry.decision.value


def test_each_operation_is_noted_with_the_memory_that_it_is_about(store, memory):
    page = memory.add("I keep bees.")
    rule = memory.governance.retain("short", ttl=3600, tags=["velvetmoth"])
    memory.governance.unretain(rule.name)
    hold = memory.governance.hold(reason="the case of Smith", memory=page)
    assert memory.governance.holds() == [hold]
    memory.governance.release(hold.id)
    memory.governance.erase(page)
    by_officer = {
        operation: [told(entry) for entry in noted(store, f"governance.{operation}")]
        for operation in ("retain", "unretain", "hold", "holds", "release", "erase")
    }
    administers = ("officer", "administer", None, [], "allowed")
    changes = {name: [one for one in made if one[1] == "administer"] for name, made in by_officer.items()}
    assert [changes[name] for name in ("retain", "unretain", "release")] == [[administers]] * 3
    assert changes["hold"] == [("officer", "administer", None, [page], "allowed")]
    assert by_officer["holds"] == [("officer", "read", None, [], "allowed")]
    assert ("officer", "delete", "delete", [page], "allowed") in by_officer["erase"]
    assert {entry.operation for entry in store.audit.permissions()} == {
        f"governance.{name}" for name in ("retain", "unretain", "hold", "release")
    }


def test_what_a_hold_refuses_is_noted_with_the_memory(store, memory):
    page = memory.add("I keep bees.")
    memory.governance.hold(reason="the case of Smith", memory=page)
    for refused in (lambda: memory.governance.erase(page), lambda: memory.delete(page)):
        with pytest.raises(OnHold):
            refused()
    found = store.audit.list(limit=None, decision="refused")
    assert {(one.operation, one.reason, one.cubes[0].id) for one in found} == {
        ("governance.erase", "OnHold", page),
        ("memory.delete", "OnHold", page),
    }


def test_the_sweep_is_noted_as_work_behind_the_calls(store, memory, clock):
    page = memory.add("I keep bees.", ttl=timedelta(hours=1))
    clock.advance(hours=1)
    store.admin.work(Event(), poll_seconds=None)
    deleted = [entry for entry in noted(store, "background") if entry.change == "delete"]
    assert page in {cube.id for entry in deleted for cube in entry.cubes}
    assert {entry.caller for entry in deleted} == {"memoryos"}


@pytest.mark.parametrize("whom", ["user", "tenant"])
def test_who_is_forgotten_leaves_a_sound_log_without_their_words(store, memory, vault, clock, whom):
    swept = memory.add("The zanzibarquux is gone.", tags=["velvetmoth"], ttl=60)
    page = memory.add("The zanzibarquux is under the mat.", tags=["velvetmoth"], metadata={"velvetmoth": 1})
    memory.facts.add("has a zanzibarquux")
    memory.search("Where is the zanzibarquux?")
    memory.update(page, "The zanzibarquux is in the attic.")
    memory.governance.retain("velvetmoth", ttl=10**6, tags=["velvetmoth"])
    hold = memory.governance.hold(reason="the case of Smith", session="velvetmoth")
    with pytest.raises(NotFound):
        memory.governance.release("zanzibarquux")
    memory.governance.release(hold.id)
    clock.advance(minutes=1)
    store.admin.work(Event(), poll_seconds=None)
    before = store.audit.verify()
    done = store.admin.forget("ann") if whom == "user" else store.admin.forget_tenant("default")
    assert done.is_complete
    report = store.audit.verify(known=before.heads)
    assert report.is_sound
    assert report.entries > before.entries
    operation = "admin.forget" if whom == "user" else "admin.forget_tenant"
    changes = [entry for entry in noted(store, operation) if entry.change]
    assert {entry.change for entry in changes} == {"delete"}
    assert {swept, page} - {cube.id for entry in changes for cube in entry.cubes} == {swept}, "it was swept before"
    with vault.snapshot() as connection:
        rows = [tuple(row) for row in connection.execute(select(tables.audit))]
    assert not [word for word in WORDS if word in repr(rows)]
    assert {"officer", "operator"} <= {one.caller for one in store.audit.access("ann")}
