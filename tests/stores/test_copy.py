"""Copies: the same rows at another place, whatever database either is on."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from memoryos import Role, Turn, stores
from memoryos.errors import InvalidInput, StorageError
from memoryos.infrastructure.vault import copying, rows
from stores.conftest import ANN, SETTINGS, begin_to_reembed, change_by_hand, content, opened

BACK_ENDS = ("sqlite", "postgres")


class Stopped(Exception):
    """The process ends here."""


CUT = 0.6  # of all rows: in the middle of a table


def stop_at(share: float):
    def progress(done: int, total: int) -> None:
        if done >= share * total:
            raise Stopped

    return progress


def test_the_store_of_these_tests_has_something_in_every_table(store):
    assert [name for name, found in content(store).items() if not found] == ["attached"]  # see tests/blobs


@pytest.mark.parametrize("target", BACK_ENDS)
@pytest.mark.parametrize("source", BACK_ENDS)
def test_every_row_is_the_same(full, new_place, source, target):
    origin, place = full(source), new_place(target)
    copied = stores.copy(origin, place)
    assert content(place) == content(origin)
    assert copied.behind == 0
    assert copied.rows == sum(len(found) for name, found in content(origin).items() if name != "meta")


def test_there_and_back_is_where_it_began(store, new_place):
    there, back = new_place("postgres"), new_place("sqlite")
    stores.copy(store, there)
    stores.copy(there, back)
    assert content(back) == content(store)


@pytest.mark.parametrize("target", BACK_ENDS)
def test_the_copy_goes_on_where_the_source_was(full, new_place, target):
    origin, place = full("sqlite"), new_place(target)
    stores.copy(origin, place)
    with opened(origin) as memory:
        before = memory.log.events(limit=10**6)
        hits = [hit.id for hit in memory.search("绿茶 成都").hits]
    with opened(place) as memory:
        assert memory.log.events(limit=10**6) == before
        assert [hit.id for hit in memory.search("绿茶 成都").hits] == hits
        page = memory.add("I have a parrot called Kiwi.")
        assert memory.log.events(after=before[-1].sequence)[0].cube_id == page
        assert memory.pages.list()[-1].id == page
    assert stores.verify(place).is_sound


def test_an_empty_store_can_be_copied(new_place):
    origin, place = new_place("sqlite"), new_place("postgres")
    opened(origin).close()
    assert stores.copy(origin, place).rows == 0
    with opened(place) as memory:
        assert memory.pages.list() == []


@pytest.mark.parametrize("target", BACK_ENDS)
def test_a_target_in_mid_copy_is_refused_and_says_what_finishes_it(store, new_place, small_steps, target):
    place = new_place(target)
    with pytest.raises(Stopped):
        stores.copy(store, place, progress=stop_at(CUT))
    for use in (opened, stores.verify, lambda place: stores.copy(place, new_place("sqlite"))):
        with pytest.raises(StorageError, match=f"not complete.*memoryos copy .*{store}"):
            use(place)


@pytest.mark.parametrize("target", BACK_ENDS)
@pytest.mark.parametrize("share", [0.01, CUT, 1.0])
def test_one_that_was_cut_off_goes_on(store, new_place, small_steps, target, share):
    place, told = new_place(target), []
    with pytest.raises(Stopped):
        stores.copy(store, place, progress=stop_at(share))
    stores.copy(store, place, progress=lambda done, total: told.append((done, total)))
    assert content(place) == content(store)
    assert all(done > share * total for done, total in told)


@pytest.mark.parametrize("target", BACK_ENDS)
def test_what_changed_in_the_source_between_two_runs_is_as_it_became(store, new_place, small_steps, target):
    place = new_place(target)
    with pytest.raises(Stopped):
        stores.copy(store, place, progress=stop_at(0.9))
    with opened(store) as memory:
        pages = memory.pages.list()
        memory.update(pages[3].id, "Something else about Saturn.")
        for page in (*pages[5:8], pages[-1]):
            memory.delete(page.id)
        memory.add_many([Turn(role=Role.USER, text=f"The lighthouse number {number}") for number in range(5)])
        memory.upkeep.rebuild()
    begin_to_reembed(store)
    stores.copy(store, place)
    assert content(place) == content(store)


@pytest.mark.parametrize("target", BACK_ENDS)
def test_what_is_written_meanwhile_comes_along(store, new_place, small_steps, target):
    place, added = new_place(target), []
    with opened(store) as memory:

        def progress(_done: int, _total: int) -> None:
            if len(added) < 10:
                added.append(memory.add(f"while it was copied {len(added)}"))
                memory.wait()

        assert stores.copy(store, place, progress=progress).behind == 0
    with opened(place) as memory:
        assert [page.id for page in memory.pages.list() if "while it was copied" in page.text] == added
    assert stores.verify(place).is_sound
    assert content(place) == content(store)


def test_of_a_source_that_is_written_without_end_the_copy_is_a_moment(store, new_place, monkeypatch):
    monkeypatch.setattr(rows, "AT_A_TIME", 100)  # and one page for each: of few rows, each round has ever more
    place, added = new_place("sqlite"), []
    with opened(store) as memory:
        copied = stores.copy(
            store, place, progress=lambda _done, _total: added.append(memory.add(f"for ever {len(added)}"))
        )
    assert copied.behind > 0
    with opened(place) as memory:
        found = [page.id for page in memory.pages.list() if "for ever" in page.text]
    assert found == added[: len(found)]
    assert len(found) < len(added)
    assert stores.verify(place).is_sound


@pytest.mark.parametrize("target", BACK_ENDS)
def test_a_store_with_memory_in_it_is_left_alone(store, full, target):
    place = full(target)
    with opened(place) as memory:
        memory.add("This is in no other store.")
    before = content(place)
    with pytest.raises(InvalidInput, match="holds memory already"):
        stores.copy(store, place)
    with pytest.raises(InvalidInput, match="holds memory already"):
        stores.copy(store, store)
    assert content(place) == before


@pytest.mark.parametrize("target", BACK_ENDS)
def test_an_empty_store_becomes_the_copy_and_who_had_it_open_is_refused(store, new_place, small_steps, target):
    place = new_place(target)
    with opened(place) as early:

        def progress(_done: int, _total: int) -> None:
            with pytest.raises(StorageError, match="not complete"):
                early.add("too early")

        stores.copy(store, place, progress=progress)
        assert early.add("now it is there")
    assert stores.verify(place).is_sound


def test_another_copy_into_an_unfinished_target_is_refused(store, full, new_place, small_steps):
    place, other = new_place("sqlite"), full("sqlite")
    with opened(other) as memory:
        memory.add("This is in no other store.")
    with pytest.raises(Stopped):
        stores.copy(store, place, progress=stop_at(CUT))
    with pytest.raises(InvalidInput, match="another copy into it was started"):
        stores.copy(other, place)
    stores.copy(store, place)
    assert content(place) == content(store)


@pytest.mark.parametrize("target", BACK_ENDS)
def test_of_two_processes_that_copy_the_same_only_the_later_one_writes(store, new_place, small_steps, target):
    place, later = new_place(target), []

    def progress(_done: int, _total: int) -> None:
        if not later:
            later.append(stores.copy(store, place))

    with pytest.raises(StorageError, match=r"another process|were made by"):
        stores.copy(store, place, progress=progress)
    assert content(place) == content(store)


def test_a_source_that_is_not_there_is_not_made(new_place):
    origin = new_place("sqlite")
    with pytest.raises(InvalidInput, match=r"source: .* does not exist"):
        stores.copy(origin, new_place("sqlite"))
    with pytest.raises(InvalidInput, match="holds no store"):
        stores.copy(new_place("postgres"), new_place("sqlite"))


def test_a_password_is_nowhere_in_the_target(store, new_place, small_steps):
    place = new_place("postgres")
    secret = place.replace("memoryos:@", "memoryos:hunter2@")
    assert secret != place
    with pytest.raises(Stopped):
        stores.copy(store, secret, progress=stop_at(CUT))
    with pytest.raises(StorageError, match="not complete") as refused:
        opened(secret)
    assert "hunter2" not in str(refused.value)
    stores.copy(store, place)


def test_the_numbers_of_a_source_that_lost_its_newest_events_are_not_used_again(store, new_place):
    """SQLite remembers the highest number of an event by itself; so does the copy."""
    place = new_place("sqlite")
    stores.copy(store, place)
    with closing(sqlite3.connect(place)) as connection:
        ((highest,),) = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchall()
    assert highest == max(row[0] for row in content(place)["events"])


def test_a_damaged_row_of_the_target_is_replaced(store, new_place, small_steps):
    place = new_place("sqlite")
    with pytest.raises(Stopped):
        stores.copy(store, place, progress=stop_at(0.9))
    change_by_hand(place, "UPDATE cubes SET document = 'torn'", "DELETE FROM passages WHERE part = 1")
    stores.copy(store, place)
    assert content(place) == content(store)
    assert copying.UNFINISHED not in dict(content(place)["meta"])
    with opened(place) as memory:
        assert memory.scope == ANN
        assert memory.settings == SETTINGS
