"""A disk that is full: what was acknowledged is there, nothing is half there, and it goes on when there is room."""

from __future__ import annotations

import pytest

from durability.filling import assert_goes_on, assert_whole, fill_up, occupy, story
from durability.mounts import files_limited, small_disk
from memoryos.errors import StoreFull


def assert_sound(memory):
    with memory._engine.vault._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


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
                memory.add(story(0, words=8_000))
            assert memory.search("Story 1").hits
        assert_whole(memory, pages)
        assert_sound(memory)
        ballast.unlink()
        assert_goes_on(memory, pages)
        assert_sound(memory)
        memory.close()


def test_a_full_disk_when_the_store_is_opened(open_memory, folder):
    with small_disk(folder / "disk", kilobytes=3_000) as disk:
        first = open_memory(disk)
        page = first.add("I keep bees.")
        first.close()
        ballast = disk / "ballast"
        occupy(ballast)
        for _ in range(2):
            with pytest.raises(StoreFull, match="free some space"):
                open_memory(disk)
        ballast.unlink()
        memory = open_memory(disk)
        assert [cube.id for cube in memory.pages.list()] == [page]
        memory.add("I keep hens.")
        memory.close()


def test_a_quota(open_memory, folder):
    """Needs no mount: the system lets no file grow beyond a size."""
    memory = open_memory(folder)
    with files_limited(700_000):
        pages, error = fill_up(memory)
        assert len(pages) >= 3
        assert type(error) is StoreFull
        assert "File too large" in str(error)
        assert "nothing was written" in str(error)
        assert memory.search("Story 1").hits
        assert_whole(memory, pages)
        assert_sound(memory)
    assert_goes_on(memory, pages)
    assert_sound(memory)


@pytest.mark.parametrize("more", [0, 1], ids=["nothing after it", "an add after it"])
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_close_says_nothing_of_a_disk_that_has_room_again(open_memory, folder, more, timeout):
    memory = open_memory(folder)
    with memory._engine.housekeeping.call():  # which it lets go first, unless somebody waits for it
        pages = [memory.add(f"I keep bees. {number}") for number in range(3)]
        with files_limited(4096):
            for _ in range(2):  # each tries again
                with pytest.raises(StoreFull):
                    memory.wait()
    pages += [memory.add(f"I keep hens. {number}") for number in range(more)]
    memory.close(timeout)
    again = open_memory(folder)
    assert [page.id for page in again.pages.list()] == pages
    assert again.stats().mtm_pages == len(pages) - 1
