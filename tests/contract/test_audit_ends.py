"""The audit log when programs die, end without closing, fork, and are interrupted."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

import forked
from memoryos import MemoryOS, load_settings
from memoryos.errors import StorageError
from memoryos.operation.calls import audit_trail

FOREVER = """
import os, sys
from memoryos import MemoryOS, load_settings

store = MemoryOS.open(sys.argv[1], settings=load_settings(embedder="hashing", audit=True))
print(os.getpid(), flush=True)
ann = store.memory("ann")
while True:
    ann.search("hives")
    print(ann.add("I have hives."), flush=True)
"""

WITHOUT_CLOSE = """
import sys
from memoryos import MemoryOS, load_settings

store = MemoryOS.open(sys.argv[1], settings=load_settings(embedder="hashing", audit=True))
store.memory("ann").search("hives")
"""

ADMINISTERED = """
import os, sys
from memoryos import MemoryOS, load_settings

store = MemoryOS.open(sys.argv[1], settings=load_settings(embedder="hashing", audit=True))
store.keys.revoke(store.keys.create("bot").info.id)
store.roles.grant("lee", ["doctor"])
store.retention.add("year", ttl=31_536_000)
store.memory("ann").governance.delegate("ben", ttl=3_600)
os._exit(9)
"""

ASKED = """
import sys
from memoryos import MemoryOS, load_settings

with MemoryOS.open(sys.argv[1], settings=load_settings(embedder="hashing")) as store:
    for operation in ("keys.create", "roles.grant", "memory.add"):  # none of them is loaded
        print(len(store.audit.list(operation=operation)))
"""


def opened(place: str) -> MemoryOS:
    return MemoryOS.open(place, settings=load_settings(embedder="hashing", audit=True))


def called(store: MemoryOS, operation: str) -> list[str]:
    """The ids in the entries of an operation; an entry without any is an empty text."""
    entries = store.audit.list(limit=None, user="ann", operation=operation)
    return [cube.id for entry in entries for cube in entry.cubes] or [""] * len(entries)


def changes(store: MemoryOS) -> set[tuple[str | None, str, int | None]]:
    """What the log tells of changed memories."""
    entries = store.audit.list(limit=None, user="ann", action="write")
    return {(entry.change, cube.id, cube.version) for entry in entries for cube in entry.cubes}


def events(store: MemoryOS) -> set[tuple[str, str, int]]:
    """What the events tell."""
    found = store.memory("ann").log.events(limit=100_000)
    return {(event.operation.value, event.cube_id, event.version) for event in found}


def check_changes(store: MemoryOS) -> None:
    """Each event has its entry, and each entry its event; more may follow meanwhile."""
    before, logged = events(store), changes(store)
    assert before <= logged <= events(store)
    assert before


@pytest.mark.parametrize("adds", [1, 40])
def test_no_write_of_a_killed_program_is_without_its_entry(place, adds):
    command = [forked.executable(), "-c", FOREVER, place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        process = int(program.stdout.readline())
        told = [program.stdout.readline().strip() for _ in range(adds)]
        os.kill(process, signal.SIGKILL)
        told += program.communicate()[0].split()
    with opened(place) as store:
        store.wait()
        assert set(told) <= set(called(store, "memory.add"))
        check_changes(store)
        assert store.audit.verify().is_sound


def test_a_program_that_ends_without_closing_leaves_its_reads(place, tmp_path):
    assert forked.python("-c", WITHOUT_CLOSE, place, cwd=tmp_path).returncode == 0
    with opened(place) as store:
        assert called(store, "memory.search") == [""]


def test_a_fork_writes_nothing_twice(place):
    def in_a_child() -> int:
        if child := forked.fork():
            return child
        signal.alarm(60)
        code = 1
        try:
            with pytest.raises(StorageError, match="open it again"):
                store.audit.list()
            code = 0
        finally:
            os._exit(code)

    with opened(place) as store:
        ann = store.memory("ann")
        for _ in range(8):
            searching = threading.Thread(target=lambda: [ann.search("hives") for _ in range(5)])
            searching.start()
            child = in_a_child()
            searching.join()
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(called(store, "memory.search")) == 40
        assert store.audit.verify().is_sound


class Interrupt(BaseException):
    """What the handler of the signal raises."""


@contextmanager
def alarms() -> Iterator[None]:
    def rings(_number: int, _frame: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, rings)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one may come amid a finalizer
def test_interrupts_leave_a_sound_log(place):
    chance = random.Random(5)
    with opened(place) as store, alarms():
        ann = store.memory("ann")
        rung = 0
        for number in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-5, 0.004))
                ann.add(f"I have {number} hives.") if number % 2 else ann.search("hives")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                rung += 1
        assert rung
        store.wait()
        check_changes(store)
        ann.search("hives")
        assert "memory.search" in {entry.operation for entry in store.audit.list(latest=True, limit=5, action="read")}
        assert store.audit.verify().is_sound


def test_a_crash_right_after_a_key_a_role_or_a_delegation_was_made_loses_no_entry_of_it(place):
    command = [forked.executable(), "-W", "error", "-c", ADMINISTERED, place]
    assert subprocess.run(command, check=False).returncode == 9
    with opened(place) as store:
        found = [entry.operation for entry in store.audit.list(limit=None)]
    wanted = ["keys.create", "keys.revoke", "roles.grant", "tenant_retention.add", "governance.delegate"]
    assert [name for name in found if name in wanted] == wanted


@pytest.mark.once
def test_a_program_that_did_nothing_yet_asks_for_an_operation_by_its_name(place):
    with opened(place) as store:
        store.keys.create("bot")
    command = [sys.executable, "-W", "error", "-c", ASKED, place]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.split() == ["1", "0", "0"]


@pytest.mark.file
def test_entries_are_written_when_a_lock_of_another_program_comes_free(tmp_path, monkeypatch, caplog):
    """After however many attempts, and without another entry or the end of the program."""
    monkeypatch.setattr(audit_trail, "WRITE_AFTER", 0.01)
    settings = load_settings(embedder="hashing", audit=True, jobs="worker", busy_timeout_seconds=0.05)
    place = str(tmp_path / "m.db")
    with MemoryOS.open(place, settings=settings) as store:
        ann = store.memory("ann")
        ann.add("I have hives.")
        ann.pages.count()
        until(lambda: "pages.count" in noted(place))
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute("begin immediate")
            ann.pages.list()
            until(lambda: sum("StoreBusy" in one.getMessage() for one in caplog.records) > 3)
            assert "pages.list" not in noted(place)
            other.execute("rollback")
        until(lambda: "pages.list" in noted(place))


HOLDER = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("begin immediate")
print("held", flush=True)
sys.stdin.read()
other.execute("rollback")
"""


@contextmanager
def held_by_another_process(place: str) -> Iterator[Callable[[], None]]:
    """Another process holds the lock of the file, until the given function is called."""
    command = [sys.executable, "-c", HOLDER, place]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        try:
            yield holder.stdin.close
        finally:
            holder.stdin.close()


@pytest.mark.file
def test_no_read_is_lost_while_another_process_holds_the_lock_for_longer_than_the_timeout(tmp_path, caplog):
    """Those that waited when the store was closed were: `close` gave up after one timeout."""
    settings = load_settings(embedder="hashing", audit=True, jobs="worker", busy_timeout_seconds=2)
    place = str(tmp_path / "m.db")
    store = MemoryOS.open(place, settings=settings)
    ann = store.memory("ann")
    ann.add("I have hives.")
    ann.pages.count()
    until(lambda: "pages.count" in noted(place))
    with held_by_another_process(place) as release:
        for _ in range(50):
            ann.facts.list()
        closer = threading.Thread(target=store.close)
        closer.start()
        until(lambda: any(one.threadName == closer.name and "StoreBusy" in one.getMessage() for one in caplog.records))
        release()
        closer.join(60)
        assert not closer.is_alive()
    with closing(sqlite3.connect(place)) as reader:
        told = [operation for (operation,) in reader.execute("select operation from audit")]
    assert told.count("facts.list") == 50


def noted(place: str) -> set[str]:
    """The operations in the file, whatever waits to be written to it."""
    with closing(sqlite3.connect(place)) as reader:
        return {operation for (operation,) in reader.execute("select operation from audit")}


def until(is_so: Callable[[], bool]) -> None:
    """Return when it is so, and fail when it is not for a long time."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)
