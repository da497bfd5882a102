"""A disk that is full: what was acknowledged is there, nothing is half there, and it goes on when there is room."""

from __future__ import annotations

from contextlib import suppress

import pytest

from durability.mounts import files_limited, small_disk
from memoryos.errors import StorageError, StoreFull
from memoryos.infrastructure.vault.contract import Operation

LONG = "a long story about bees and their queen " * 500  # 20 kB
ROUNDS = 200  # the disk is full before


def story(number):
    return f"Story {number}: {LONG}"


def fill_up(memory):
    """Add until it fails; returns the pages that were acknowledged, and the error."""
    pages = []
    for number in range(ROUNDS):
        try:
            pages.append(memory.add(story(number), "Thank you.", idempotency_key=str(number)))
        except StorageError as error:
            return pages, error
    raise AssertionError("the disk is never full")


def assert_nothing_half_written(memory, pages):
    """Each page has its passages and its event, and there is nothing else."""
    with memory._vault.read(memory._scope) as reader:
        added = [event.cube_id for event in reader.events(limit=10_000) if event.operation is Operation.ADD]
        stored = [(row.page, row.part) for row in reader.passages()]
        jobs = {job.cube_id for job in reader.jobs()}
        assert set(reader.get(jobs)) == jobs
    assert stored == [(page, part) for page in pages for part in (1, 2)]
    assert [cube_id for cube_id in added if cube_id in pages] == pages
    with memory._vault._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def assert_goes_on(memory, pages):
    """There is room again: the same memory stores what failed, and finds a place for every page."""
    with suppress(StorageError):  # it says once that pages could not be moved meanwhile
        memory.wait()
    repeated = [
        memory.add(story(number), "Thank you.", idempotency_key=str(number)) for number in range(len(pages) + 2)
    ]
    assert repeated[: len(pages)] == pages
    memory.wait()
    assert [page.id for page in memory.pages()] == repeated
    assert memory.stats().mtm_pages == len(repeated) - 1
    assert_nothing_half_written(memory, repeated)


def test_a_full_disk(open_memory, folder):
    with small_disk(folder / "disk", kilobytes=6_000) as disk:
        memory = open_memory(disk)
        ballast = disk / "ballast"
        ballast.write_bytes(b"x" * 3_000_000)
        pages, error = fill_up(memory)
        assert isinstance(error, StoreFull)
        assert "free some space" in str(error)
        assert len(pages) >= 3
        for _ in range(2):  # it stays so, and what is there is found
            with pytest.raises(StoreFull):
                memory.add(LONG * 4)
            assert memory.search("Story 1").hits
        assert_nothing_half_written(memory, pages)
        ballast.unlink()
        assert_goes_on(memory, pages)
        memory.close()


def test_a_full_disk_when_the_store_is_opened(open_memory, folder):
    with small_disk(folder / "disk", kilobytes=3_000) as disk:
        first = open_memory(disk)
        page = first.add("I keep bees.")
        first.close()
        ballast = disk / "ballast"
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
        for _ in range(2):
            with pytest.raises(StoreFull, match="free some space"):
                open_memory(disk)
        ballast.unlink()
        memory = open_memory(disk)
        assert [cube.id for cube in memory.pages()] == [page]
        memory.add("I keep hens.")
        memory.close()


def test_a_quota(open_memory, folder):
    """Needs no mount: the system lets no file grow beyond a size."""
    memory = open_memory(folder)
    with files_limited(700_000):
        pages, error = fill_up(memory)
        assert len(pages) >= 3
        assert "nothing was written" in str(error)
        assert memory.search("Story 1").hits
        assert_nothing_half_written(memory, pages)
    assert_goes_on(memory, pages)
