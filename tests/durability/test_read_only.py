"""A store that may only be read is read, and says of each write that it may not."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest

import memoryos
from durability.mounts import read_only_mount, without_permission
from memoryos import load_settings
from memoryos.errors import StoreBusy, StoreReadOnly
from memoryos.models.hashing import Hashing

SAID = [("I keep bees.", "How many hives?"), ("My name is Tom.", "Hello Tom!"), ("我住在杭州。", "杭州很美。")]


@pytest.fixture(params=[read_only_mount, without_permission], ids=lambda way: way.__name__)
def read_only(request):
    return request.param


def fill(memory):
    pages = [memory.add(query, response) for query, response in SAID]
    memory.consolidate()
    return pages


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def ids(memory):
    return [page.id for page in memory.pages.list()]


def assert_can_be_read(memory, pages):
    assert ids(memory) == pages
    assert memory.search("bees").hits[0].cube.id == pages[0]
    assert memory.search("杭州", strategy="two_stage").query == "杭州"
    assert "bees" in memory.context("What do I keep?").text
    assert "bees" in memory.digest().text
    assert "Tom" in [field.payload.value for field in memory.profile.get().user.profile]
    assert memory.stats().stm_pages + memory.stats().mtm_pages == len(pages)
    assert len(memory.history(pages[0])) == 1


def assert_may_not_be_written(memory, pages):
    writes = [
        lambda: memory.add("I keep hens.", idempotency_key="again"),
        lambda: memory.update(pages[0], "I keep hens."),
        lambda: memory.delete(pages[0]),
        lambda: memory.facts.add("Tom keeps hens."),
    ]
    for write in writes:
        with pytest.raises(StoreReadOnly, match=r"memory\.db.*permissions"):
            write()
    assert ids(memory) == pages


def test_a_store_that_nobody_has_open(open_memory, folder, read_only):
    first = open_memory(folder)
    pages = fill(first)
    first.close()
    with read_only(folder) as place:
        memory = open_memory(place)
        assert_can_be_read(memory, pages)
        assert_may_not_be_written(memory, pages)
        memory.close()  # and has nothing left to write
    assert names(folder) == ["memory.db"]
    again = open_memory(folder)
    assert ids(again) == pages
    assert again.add("I keep hens.") in ids(again)


def test_a_store_that_another_process_writes_is_followed(open_memory, folder):
    writer = open_memory(folder)
    pages = fill(writer)
    with read_only_mount(folder) as place:
        memory = open_memory(place)
        assert_can_be_read(memory, pages)
        hens = writer.add("I keep hens.")
        assert memory.search("hens").hits[0].cube.id == hens
        assert_may_not_be_written(memory, [*pages, hens])
        memory.close()


def test_a_store_that_somebody_begins_to_write_is_not_read_any_more(open_memory, folder):
    first = open_memory(folder)
    pages = fill(first)
    first.close()
    with read_only_mount(folder) as place:
        memory = open_memory(place)
        assert ids(memory) == pages
        writer = open_memory(folder)
        for _ in range(2):
            with pytest.raises(StoreBusy, match="open it again"):
                memory.search("bees")
        again = open_memory(place)  # now there is a log to follow
        hens = writer.add("I keep hens.")
        assert again.search("hens").hits[0].cube.id == hens
        again.close()
        writer.close()
        with pytest.raises(StoreBusy, match="open it again"):  # the log is gone, and the file is another
            memory.search("bees")
        assert ids(open_memory(place)) == [*pages, hens]


def test_what_is_read_while_the_file_changes_is_refused(open_memory, folder):
    first = open_memory(folder)
    fill(first)
    first.close()
    with read_only_mount(folder) as place:
        memory = open_memory(place)
        with pytest.raises(StoreBusy), memory._engine.vault.read(memory._scope):
            writer = open_memory(folder)
            writer.add("I keep hens.")
            writer.close()


def test_a_log_that_cannot_be_read_is_named_and_not_passed_over(open_memory, folder, read_only):
    """What a dead process left on a disk that is then mounted read-only: the last pages are in the log alone."""
    first = open_memory(folder)
    pages = fill(first)
    left = folder.with_name("left")
    left.mkdir(0o755)
    for name in ("memory.db", "memory.db-wal"):
        shutil.copyfile(folder / name, left / name)
    with read_only(left) as place, pytest.raises(StoreReadOnly, match=r"memory\.db-wal: copy both"):
        open_memory(place)
    rescued = folder.with_name("rescued")
    shutil.copytree(left, rescued)
    assert ids(open_memory(rescued)) == pages


def test_a_file_that_may_not_be_written_in_a_folder_that_may(open_memory, folder):
    first = open_memory(folder)
    pages = fill(first)
    first.close()
    with without_permission(folder, mode_of_folder=0o777):
        memory = open_memory(folder)
        assert_can_be_read(memory, pages)
        assert_may_not_be_written(memory, pages)
        memory.close()
    assert open_memory(folder).add("I keep hens.")


def test_a_store_of_an_older_program_is_not_upgraded_where_it_may_not_be_written(open_memory, folder, read_only):
    open_memory(folder).close()
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        connection.execute("DROP TABLE next_vectors")
        connection.execute("UPDATE alembic_version SET version_num = '0005'")
        connection.commit()
    before = (folder / "memory.db").read_bytes()
    with read_only(folder) as place, pytest.raises(StoreReadOnly, match=r"memory\.db"):
        open_memory(place)
    assert (folder / "memory.db").read_bytes() == before


def test_no_store_is_made_where_none_may_be_written(open_memory, folder, read_only):
    with read_only(folder) as place, pytest.raises(StoreReadOnly, match=r"memory\.db"):
        open_memory(place)
    assert names(folder) == []


def leave_work(folder):
    """A store that a process left with a page to move and a job to do."""
    left = open_memory_of_worker(folder)
    left.add("My name is Tom.")
    left.consolidate()
    left.close()


def open_memory_of_worker(folder):
    settings = load_settings(short_term_capacity=1, jobs="worker")
    return memoryos.open(folder / "memory.db", user="tom", settings=settings, embedder=Hashing())


def test_wait_says_what_is_due_where_nothing_may_be_written(open_memory, folder, read_only):
    leave_work(folder)
    with read_only(folder) as place:
        memory = open_memory(place)
        for wait in (memory.wait, memory.jobs.run):
            with pytest.raises(StoreReadOnly, match="jobs of 1 owners"):
                wait()
        memory.close()
        workers = open_memory_of_worker(place)
        workers.wait()  # jobs are not its business
        workers.close()
    memory = memoryos.open(folder / "memory.db", user="tom", embedder=Hashing(), read_only=True)
    with pytest.raises(StoreReadOnly, match="jobs of 1 owners"):
        memory.wait()
    memory.close()
    memory = open_memory(folder)
    memory.jobs.run()
    memory.close()
    with read_only(folder) as place:
        memory = open_memory(place)
        memory.wait()
        memory.close()
