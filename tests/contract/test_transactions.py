from __future__ import annotations

import gc
import os
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread

import pytest

import forked
from contract.append import append
from contract.back_ends import BACK_ENDS
from memoryos.errors import PermissionDenied, StorageError, StoreBusy
from memoryos.infrastructure.vault.locks import Hold
from memoryos.infrastructure.vault.records import JobKind, Link, LinkKind
from memoryos.infrastructure.vault.sqlite import log_cut, sqlite_vault
from memoryos.infrastructure.vault.sqlite.still import log_of
from memoryos.kinds import Kind
from memoryos.scope import Scope
from public import store_of

ALICE = Scope(user="alice")
TESTS = Path(__file__).parents[1]


def pages(vault):
    with vault.read(ALICE) as reader:
        return reader.cubes(Kind.PAGE)


def fail_at_the_first(reader, pages):
    """Raise an error that holds on to what the other rows would come from."""
    rest = reader.passages(page.id for page in pages)
    raise StorageError(next(rest).page)


def assert_serial(found, labels, count):
    """Every write saw all earlier ones, and each writer's pages are in its order."""
    words = [cube.text.removeprefix("user: ").split() for cube in found]
    assert [int(before) for _, _, before in words] == list(range(len(labels) * count))
    for label in labels:
        assert [int(number) for name, number, _ in words if name == label] == list(range(count))


def test_a_block_that_raises_leaves_nothing(vault, store, entry):
    first, second = store("the first").cube, store("the second").cube
    with pytest.raises(KeyboardInterrupt), vault.write(ALICE) as writer:
        writer.insert([entry("unwanted", id="unwanted")])
        writer.link([Link("unwanted", LinkKind.CHAIN, first.id)])
        writer.enqueue(JobKind.EXTRACT, [first.id])
        writer.delete([second.id])
        raise KeyboardInterrupt
    with vault.read(ALICE) as reader:
        assert reader.cubes(Kind.PAGE) == [first, second]
        assert [passage.page for passage in reader.passages()] == [first.id, second.id]
        assert reader.sources([first.id], LinkKind.CHAIN) == []
        assert reader.jobs() == []
        assert len(reader.events()) == 2
        assert reader.sequence() == reader.events()[-1].sequence


def test_a_view_beside_another_is_of_the_same_moment(vault, store, entry):
    known = store().cube
    bob = Scope(user="bob")
    with vault.view(ALICE) as reader:
        with vault.write(ALICE) as writer:
            writer.insert([entry(id="later")])
        with vault.view(ALICE, reader) as beside, vault.view(bob, reader) as other:
            assert beside.cubes(Kind.PAGE) == [known]
            assert other.cubes(Kind.PAGE) == []
        assert reader.cubes(Kind.PAGE) == [known]  # it goes on when those beside it end
    with vault.view(ALICE) as reader:
        assert [cube.id for cube in reader.cubes(Kind.PAGE)] == [known.id, "later"]


def test_the_gate_is_asked_for_a_view_beside_another(vault, store):
    store()

    class OnlyAlice:
        def admit(self, caller, action, scope):
            if scope != ALICE:
                raise PermissionDenied("only Alice's memory may be read")

    vault.gate = OnlyAlice()
    with vault.view(ALICE) as reader:
        assert len(reader.cubes(Kind.PAGE)) == 1
        with pytest.raises(PermissionDenied), vault.view(Scope(user="bob"), reader):
            pass


def test_a_refused_statement_takes_the_whole_block_with_it(vault, store, entry):
    stored = store().cube
    with pytest.raises(StorageError), vault.write(ALICE) as writer:
        writer.insert([entry(id="unwanted")])
        writer.insert([entry(id=stored.id)])
    assert pages(vault) == [stored]


@pytest.mark.parametrize("session", ["read", "write"])
def test_an_error_that_is_kept_keeps_no_snapshot(vault, store, session):
    first, second = store("bees").cube, store("wasps").cube
    with pytest.raises(StorageError) as kept, getattr(vault, session)(ALICE) as reader:
        fail_at_the_first(reader, [first, second])
    with vault.write(ALICE) as writer:
        writer.delete([first.id])
    assert pages(vault) == [second]
    assert kept.value.args == (first.id,)


@pytest.mark.file
@pytest.mark.parametrize("others", [2, 2_500])
def test_a_session_ends_what_is_still_read_among_many_cursors(vault, store, others):
    """Those that nobody has any more are forgotten meanwhile: a long session runs very many statements."""
    store("bees")
    with vault.read(ALICE) as reader:
        rest = reader.passages()
        next(rest)
        for _ in range(others):
            reader.sequence()
        driver = reader._connection.connection.driver_connection
        assert len(driver._open) <= 1_010
    assert not driver._open
    with pytest.raises(sqlite3.ProgrammingError, match="closed cursor"):
        list(rest)


@pytest.mark.file
def test_an_error_that_is_kept_does_not_keep_the_log(vault, store):
    stored = [store(text).cube for text in ("bees", "wasps")]
    with pytest.raises(StorageError) as kept, vault.read(ALICE) as reader:
        fail_at_the_first(reader, stored)
    store("ants")
    vault.empty_log()
    assert log_of(vault.path).stat().st_size == 0
    assert kept.tb


@pytest.mark.file
def test_the_log_stays_small_beside_readers_of_whom_one_always_reads(vault, store, monkeypatch):
    monkeypatch.setattr(sqlite_vault, "MOST_LOG", 100_000)
    vault._most_log = 100_000
    store("bees")
    ends, turns = Event(), [Event(), Event()]

    def read(mine, others):
        while not ends.is_set():
            with vault.snapshot() as connection:
                connection.exec_driver_sql("SELECT count(*) FROM cubes").scalar()
                others.set()  # who began before may end now
                mine.wait(1)
                mine.clear()

    readers = [Thread(target=read, args=pair) for pair in (turns, turns[::-1])]
    for reader in readers:
        reader.start()
    try:
        size, emptied, deadline = 0, 0, time.monotonic() + 60
        while emptied < 3 and time.monotonic() < deadline:
            store("wasps " * 2_000)
            before, size = size, log_of(vault.path).stat().st_size
            emptied += size < before
    finally:
        ends.set()
        for reader in readers:
            reader.join()
    assert emptied == 3


@pytest.mark.file
def test_a_log_that_a_reader_keeps_is_tried_again_while_others_write(vault, store, monkeypatch):
    """The write lock was held for a tenth of a second, in which it waited for the reader."""
    store("bees")
    vault._most_log, wrote = 0, []

    def write_meanwhile(seconds):
        assert not vault._lock.locked()
        with closing(sqlite3.connect(vault.path, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        wrote.append(seconds)

    with vault.snapshot() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM cubes").scalar()
        monkeypatch.setattr(sqlite_vault.time, "sleep", write_meanwhile)
        store("wasps")
        assert len(wrote) == sqlite_vault._LOG_TRIES
    assert vault._most_log > sqlite_vault.MOST_LOG // 4, "the next try comes later"
    vault._most_log = 0
    store("hornets")
    assert log_of(vault.path).stat().st_size == 0
    assert vault._most_log == sqlite_vault.MOST_LOG


@pytest.mark.file
def test_the_log_is_copied_into_the_file_while_others_write(vault, store, monkeypatch):
    """A commit copied all that a reader had kept in the log: 70 MB took 0.2 s under the lock."""
    store("bees")
    vault.empty_log()
    monkeypatch.setattr(sqlite_vault, "_ROWS_IN_LOG", 0)
    begin, size = vault._is_log_copied, vault.path.stat().st_size

    def copy_meanwhile():
        assert vault.path.stat().st_size == size, "the commit copied"
        with closing(sqlite3.connect(vault.path, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        return begin()

    monkeypatch.setattr(vault, "_is_log_copied", copy_meanwhile)
    with vault.change() as connection:  # so much in one row, because indexing a text takes long
        connection.exec_driver_sql("INSERT INTO meta (key, value) VALUES ('wasps', zeroblob(6000000))")
    assert vault.path.stat().st_size > size + 5_000_000


@pytest.mark.file
def test_a_log_that_a_reader_kept_after_an_erasure_is_copied_while_others_write(vault, store, monkeypatch):
    """The next write copied it under its lock: whatever the reader had kept, and what the write added."""
    doomed, copied, begin = store("bees").cube, list[bool](), vault._is_log_copied

    def copy():
        copied.append(vault._lock.locked())
        return begin()

    held = list[Hold]()
    vault.on_lock = held.append
    with vault.snapshot() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM cubes").scalar()
        with vault.write(ALICE) as writer:
            writer.delete([doomed.id])
        assert log_of(vault.path).stat().st_size > 0
        assert len(held) == 1, "to empty the log would copy under the lock what the reader kept, if it ended now"
    monkeypatch.setattr(vault, "_is_log_copied", copy)
    held.clear()
    store("wasps")
    assert copied == [False]
    assert log_of(vault.path).stat().st_size == 0
    assert len(held) == 2, "the write, and what empties the log"
    store("ants")
    assert copied == [False]


def test_each_transaction_on_the_whole_store_is_timed(open_memory):
    """Those of keys and roles were not."""
    memory = open_memory()
    store, vault, held = store_of(memory), memory._engine.vault, list[Hold]()

    vault.on_lock = held.append
    for change in (
        lambda: store.keys.create("ann"),
        lambda: store.roles.grant("ann", ["doctor"]),
        lambda: store.retention.add("a day", ttl=86_400),
    ):
        held.clear()
        change()
        assert held


@pytest.mark.file
@pytest.mark.parametrize("way", ["erased", "large"])
def test_a_large_log_is_given_back_in_short_steps(vault, store, monkeypatch, tmp_path, way):
    """It was given back as a whole, which takes as long as it is large: 77 ms under the lock were seen.

    After each step, all is there for another process, also after a crash.
    """
    store("bees")
    monkeypatch.setattr(log_cut, "LOG_PART", part := 100_000)
    log, sizes = log_of(vault.path), list[int]()

    def look(_):
        sizes.append(log.stat().st_size)
        copied = tmp_path / "crashed.db"
        for file in (vault.path, log):
            (log_of(copied) if file == log else copied).write_bytes(file.read_bytes())
        with closing(sqlite3.connect(copied)) as other:
            assert other.execute("SELECT length(value) FROM meta WHERE key = 'wasps'").fetchall() == [(600_000,)]
            assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    with vault.snapshot() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM cubes").scalar()
        with vault.change() as changing:
            changing.exec_driver_sql("INSERT INTO meta (key, value) VALUES ('wasps', zeroblob(600000))")
    vault.on_lock = look
    if way == "large":
        vault._most_log = 0
        store("ants")
    else:
        vault.empty_log()
    assert len(sizes) > 6
    assert all(before - after <= part + 4096 for before, after in pairwise(sizes))
    assert sizes[-1] == 0
    store("hornets")
    with closing(sqlite3.connect(vault.path)) as other:
        assert len(other.execute("SELECT id FROM cubes").fetchall()) == (3 if way == "large" else 2)


@pytest.mark.file
def test_a_log_is_not_given_back_while_somebody_reads_from_it(vault, store, monkeypatch):
    monkeypatch.setattr(log_cut, "LOG_PART", 10_000)
    store("bees " * 2_000)
    log = log_of(vault.path)
    with vault.snapshot() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM cubes").scalar()
        before = log.stat().st_size
        vault.empty_log()
        assert log.stat().st_size == before > 20_000
    vault.empty_log()
    assert log.stat().st_size == 0


@pytest.mark.file
def test_what_cannot_be_copied_from_the_log_is_no_error_of_the_write(vault, store, monkeypatch, caplog):
    monkeypatch.setattr(sqlite_vault, "_ROWS_IN_LOG", 0)

    def full():
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(vault._engine, "raw_connection", full)
        stored = store("bees").cube
    assert "log not copied yet: StorageError" in caplog.text
    assert pages(vault) == [stored]


def test_a_writer_sees_its_own_changes(vault, entry):
    made = entry("bees")
    with vault.write(ALICE) as writer:
        writer.insert([made])
        assert writer.cubes(Kind.PAGE) == [made.cube]
        assert [passage.page for passage in writer.passages()] == [made.cube.id]
        assert writer.sequence() == writer.events()[-1].sequence


def test_a_reader_does_not_see_an_uncommitted_write(vault, store, entry):
    stored = store().cube
    with vault.write(ALICE) as writer:
        writer.insert([entry()])
        assert pages(vault) == [stored]
    assert len(pages(vault)) == 2


def test_a_reader_keeps_its_snapshot_while_others_write(vault, store):
    stored = store("bees").cube
    with vault.read(ALICE) as reader:
        before, sequence = reader.events(), reader.sequence()
        store("more bees")
        with vault.write(ALICE) as writer:
            writer.delete([stored.id])
        assert reader.cubes(Kind.PAGE) == [stored]
        assert reader.events() == before
        assert reader.sequence() == sequence
        assert [passage.page for passage in reader.passages()] == [stored.id]
    assert len(pages(vault)) == 1


def test_a_second_writer_waits_for_the_first(vault, entry):
    order, second_starts = [], Event()

    def write_second():
        second_starts.set()
        with vault.write(ALICE) as writer:
            order.append(len(writer.cubes(Kind.PAGE)))

    with vault.write(ALICE) as writer:
        other = Thread(target=write_second)
        other.start()
        second_starts.wait()
        writer.insert([entry()])
        order.append("first")
    other.join()
    assert order == ["first", 1]


def test_writers_in_many_threads_serialise(vault):
    labels = ["a", "b", "c", "d"]

    def work(label):
        for number in range(15):
            append(vault, label, number)

    with ThreadPoolExecutor(len(labels)) as threads:
        list(threads.map(work, labels))
    assert_serial(pages(vault), labels, 15)


def test_writers_in_two_processes_serialise(vault, back_end, tmp_path):
    command = [forked.executable(), "-m", "contract.append", back_end, str(tmp_path), "child", "25"]
    with subprocess.Popen(command, cwd=TESTS, env=os.environ, stderr=subprocess.PIPE) as child:
        for number in range(25):
            append(vault, "parent", number)
        assert child.wait() == 0, child.stderr.read()
    assert_serial(pages(vault), ["parent", "child"], 25)


def test_a_writer_that_waits_too_long_is_told_so(vault, back_end, tmp_path, clock):
    impatient = BACK_ENDS[back_end](tmp_path, clock, busy_timeout_seconds=0.05)
    try:
        with vault.write(ALICE), pytest.raises(StoreBusy), impatient.write(ALICE):
            pass
        with impatient.write(ALICE) as writer:
            assert writer.cubes(Kind.PAGE) == []
    finally:
        impatient.close()


def test_a_store_keeps_what_it_has_when_it_is_opened_again(vault, back_end, tmp_path, store, clock):
    stored = store().cube
    vault.close()
    again = BACK_ENDS[back_end](tmp_path, clock)
    assert pages(again) == [stored]
    again.close()


def test_a_closed_store_says_so_and_may_be_closed_twice(vault, tmp_path):
    vault.close()
    vault.close()
    with pytest.raises(StorageError, match="closed"), vault.read(ALICE):
        pass
    with pytest.raises(StorageError, match="closed"), vault.write(ALICE):
        pass
    with pytest.raises(StorageError, match="closed"):
        vault.owners("default")


def test_who_follows_the_log_misses_nothing(vault):
    """Events become visible in the order of their numbers, however many write."""
    followed, done = [], Event()

    def follow():
        finished = False
        while not finished:
            finished = done.is_set()  # after that, once more
            with vault.read(ALICE) as reader:
                followed.extend(reader.events(after=followed[-1].sequence if followed else 0, limit=7))
                finished = finished and reader.sequence() == followed[-1].sequence

    follower = Thread(target=follow)
    follower.start()
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: append(vault, f"w{number % 4}", number), range(60)))
    done.set()
    follower.join()
    with vault.read(ALICE) as reader:
        assert followed == reader.events()
    assert len(followed) == 60


@pytest.mark.parametrize("is_on", [True, False])
def test_the_garbage_collector_is_left_to_the_program(vault, is_on):
    before = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        with vault.write(ALICE):
            assert gc.isenabled() is is_on
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if before else gc.disable)()
