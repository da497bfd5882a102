"""The write lock, timed: which operations are measured, and that every step of them is."""

from __future__ import annotations

import gc
import json

import pytest
from typer.testing import CliRunner

from memoryos import MemoryOS, load_settings
from memoryos.bench import lock_times
from memoryos.bench.lock_times import USUAL, Held, Locking, ScopeKind, measure
from memoryos.clock import system_clock
from memoryos.engine import Engine
from memoryos.infrastructure.vault.locks import Hold
from memoryos.infrastructure.vault.place import open_vault
from memoryos.interface.cli.app import app
from memoryos.models.hashing import Hashing
from memoryos.scope import Scope

PAGES = {"add", "move", "consolidate", "update", "delete, a page", "repair", "rebuild", "forget", "load"}
FACTS = {"facts.add", "proposals.publish", "proposals.accept"}
STATES = {"governance.freeze", "governance.thaw", "governance.hold; release", "governance.relabel"}
ENDS = STATES | {
    "duplicates.merge, 6 pages",
    "duplicates.unmerge, 2 pages",
    "governance.expire, 6 pages",
    "sweep of what expired",
    "forget, a session",
    "branches.create",
    "branches.discard",
    "snapshots.create",
    "snapshots.remove",
}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {
        "SINGLE": 10,
        "CHANGED": 2,
        "STATEMENTS": 40,
        "NAMING": 10,
        "STATED": 2,
        "PUBLISHED": 8,
        "TOGETHER": 6,
        "DOUBLES": 6,
        "HUGE_CHARS": 3_200,
        "BOOK_CHARS": 6_400,
    }.items():
        monkeypatch.setattr(lock_times, name, size)


def test_each_operation_is_measured_in_both_scopes():
    ordinary, hostile = measure(USUAL, 60, load_settings(embedder="hashing"))
    for found in (ordinary, hostile):
        assert found.held.keys() >= PAGES | FACTS
        assert found.held["add"].steps == 10
        assert [found.held[name].steps > 0 for name in sorted(FACTS | ENDS)] == [True] * len(FACTS | ENDS)
        assert found.held["load"].steps > 2
        assert all(held.longest_ms >= held.p95_ms for held in found.held.values())
        assert all(held.longest_cpu_ms >= held.longest_work_ms >= 0 for held in found.held.values())
    assert "delete, special pages" in hostile.held
    assert "delete, special pages" not in ordinary.held
    for change in ("add", "update"):
        assert hostile.held[f"{change}, a page of 6,400 characters"].steps > 0
        assert f"{change}, a page of 6,400 characters" not in ordinary.held
    assert list(ordinary.held)[-2:] == ["forget", "load"]  # what is forgotten last leaves nothing to measure
    assert ordinary.held["forget"].steps > 1


def test_what_was_chosen_is_measured_alone():
    """Pages are added and read each time, and what was not chosen is neither done nor told."""
    chosen = [Locking.BRANCH, Locking.UPDATE]
    (found,) = measure([ScopeKind.HOSTILE], 60, load_settings(embedder="hashing"), parts=chosen)
    assert list(found.held) == ["update", "update, special pages", "branches.create", "branches.discard"]
    assert all(held.steps > 0 for held in found.held.values())


def test_a_scope_of_one_slot_is_one_succession():
    (found,) = measure([ScopeKind.ONE_SLOT], 60, load_settings(embedder="hashing"))
    assert found.held.keys() >= PAGES | FACTS | ENDS
    assert "delete, special pages" not in found.held
    assert found.held["consolidate"].steps > 2


def test_only_work_counts_as_over_the_bound():
    waited, worked = Hold(0.4, 0.01), Hold(0.4, 0.08, 0.02)
    held = Held.of([waited, worked, worked], seconds=1.0)
    assert (held.over, held.longest_work_ms, held.longest_cpu_ms) == (2, pytest.approx(60), 80)
    assert held.longest_ms == 400
    assert Held.of([], seconds=0.0).over == 0


def test_it_waits_for_what_goes_on_beside_it(monkeypatch: pytest.MonkeyPatch):
    waits = list[float]()
    monkeypatch.setattr(lock_times, "_measured", lambda *given: waits.append(given[2].busy_timeout_seconds) or {})
    list(measure([ScopeKind.ORDINARY], 60, load_settings(embedder="hashing", busy_timeout_seconds=1)))
    assert waits == [lock_times.WAIT_SECONDS]


def test_the_command_tells_it_as_json(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORYOS_EMBEDDER", "hashing")
    chosen = ["--pages", "200", "--scope", "ordinary", "--operation", "consolidate"]
    result = CliRunner().invoke(app, ["bench", "locks", *chosen, "--json"])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["bound_ms"] == 50
    assert document["scopes"].keys() == {"ordinary"}
    assert document["scopes"]["ordinary"]["operations"]["consolidate"]["steps"] > 0


def test_a_vault_tells_of_each_write_and_of_no_read(tmp_path):
    held: list[Hold] = []
    place, embedder = tmp_path / "told.db", Hashing()
    vault = open_vault(place, embedder=embedder.name, clock=system_clock, busy_timeout_seconds=5)
    with MemoryOS(Engine(vault, embedder)) as store:
        memory = store.memory("ann")
        vault.on_lock = held.append
        memory.add("I live in Rome.")
        memory.wait()
        written = len(held)
        assert written >= 2  # the page came in, and it was moved
        memory.profile.get()
        assert len(held) == written
        assert all(hold.seconds >= hold.cpu_seconds >= 0 for hold in held)


def test_garbage_collected_under_the_lock_is_told_apart(tmp_path):
    held: list[Hold] = []
    vault = open_vault(tmp_path / "gc.db", embedder="hashing", clock=system_clock, busy_timeout_seconds=5)
    vault.on_lock = held.append
    for collects in (False, True):
        with vault.write(Scope(user="ann")):
            if collects:
                gc.collect()
    vault.close()
    assert held[0].collecting_seconds < held[1].collecting_seconds <= held[1].cpu_seconds
