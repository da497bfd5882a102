"""What was swept or forgotten is in no file of the store: neither plain nor packed, in no encoding."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest

import memoryos
from contract import server
from memoryos import Kind, load_settings, stores
from public import store_of

from .raw import files_with, is_in
from .test_erasure import statistics_file

SETTINGS = load_settings(embedder="hashing", short_term_capacity=1, heat_threshold=0)
WORD, HAN = "zanzibarquux", "量子茶壶"
PICTURE = WORD.encode() + bytes(range(256))


@pytest.mark.once
@pytest.mark.parametrize(
    "write",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: gzip.compress(text.encode()),
        lambda text: zlib.compress(text.encode("utf-16-le")),
        lambda text: bz2.compress(text.encode()),
        lambda text: lzma.compress(text.encode()),
        lambda text: text.encode()[:9] + b"\x00" + text.encode()[9:],
    ],
)
@pytest.mark.parametrize("word", [WORD, HAN])
def test_the_search_of_these_tests_would_find_it(write, word):
    data = b"\x00before" + write(f"The {word} is under the mat. " * 9) + b"after\xff"
    assert is_in(word, data)
    assert not is_in("quokkastamps", data)


def filled(memory: memoryos.Memory) -> None:
    """Expiring pages with a picture, a fact, versions and a job; one page that stays."""
    picture = {"type": "image", "source": {"media_type": "image/png", "data": PICTURE}, "caption": HAN}
    memory.add([{"role": "user", "content": ["Look at this.", picture]}], ttl=3600)
    for number in range(6):
        page = memory.add(f"I have a parrot called {WORD.title()}. Room {number}, {HAN}. " * 40, ttl=3600)
    memory.update(page, f"I have a cat called {WORD.title()}.")
    memory.add("The bees like lavender.", "Indeed.")
    memory.consolidate()
    assert any(WORD in fact.text.lower() for fact in memory.profile.get().user.facts)
    assert memory.search(WORD).hits


def sweep(memory: memoryos.Memory, clock) -> None:
    clock.advance(hours=1)
    memory.jobs.run()


def forget(memory: memoryos.Memory, _clock) -> None:
    assert memory.forget().is_complete


def forget_person(memory: memoryos.Memory, _clock) -> None:
    assert store_of(memory).admin.forget("ann").is_complete


EVERY_WAY = pytest.mark.parametrize("remove", [sweep, forget, forget_person])


@pytest.mark.file
@EVERY_WAY
def test_removed_words_are_in_no_file_while_the_store_is_open_or_after(tmp_path: Path, clock, remove):
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=SETTINGS, clock=clock) as memory:
        filled(memory)
        assert files_with(tmp_path, WORD)
        remove(memory, clock)
        assert [files_with(tmp_path, word) for word in (WORD, WORD.title(), HAN)] == [[], [], []]
    assert [files_with(tmp_path, word) for word in (WORD, WORD.title(), HAN)] == [[], [], []]


@pytest.mark.file
@EVERY_WAY
def test_removed_words_are_in_no_file_of_a_scrubbed_postgres(tmp_path: Path, clock, remove):
    place = server.store_of(tmp_path).render_as_string(hide_password=False)
    with memoryos.open(place, user="ann", settings=SETTINGS, clock=clock) as memory:
        memory.add(f"I have a parrot called {WORD.title()}. {HAN}. " * 90, ttl=3600)
        memory.add("The bees like lavender.", "Indeed.")
        memory.consolidate()
        database = place.rpartition("/")[2].partition("?")[0]
        with server.administrator(database) as administrator:
            administrator.execute("CHECKPOINT")
            folder = relations(administrator)
            assert files_with(folder, WORD.title())
            remove(memory, clock)
            for refused in stores.scrub(place).refused:
                if refused.startswith("statistics"):
                    administrator.execute(refused.partition("run ")[2])
                    stores.scrub(place)
            administrator.execute("CHECKPOINT")
            assert [files_with(folder, word) for word in (WORD, WORD.title(), HAN)] == [[], [], []]
            assert WORD.encode() not in statistics_file(administrator).read_bytes()
        kept = ["The bees like lavender."] if remove is sweep else []
        assert [page.payload.turns[0].text for page in memory.pages.list()] == kept


def delete(memory: memoryos.Memory, page: str) -> None:
    memory.delete(page)


def erase(memory: memoryos.Memory, page: str) -> None:
    assert memory.governance.erase(page).is_complete


def expire(memory: memoryos.Memory, page: str) -> None:
    memory.governance.expire(page, reason=f"{WORD} again")
    memory.wait()


@pytest.mark.parametrize("remove", [delete, erase, expire])
def test_what_callers_said_about_a_memory_goes_with_it(place: str, clock, tmp_path: Path, remove):
    with memoryos.open(place, user="ann", settings=SETTINGS, clock=clock) as memory:
        check_reasons(memory, tmp_path, remove)


def check_reasons(memory: memoryos.Memory, folder: Path, remove) -> None:
    page, other = memory.add("I keep bees."), memory.add("The gate squeaks.")
    for one in (page, other):
        memory.update(one, "I keep wasps.", reason=f"{WORD if one == page else 'wrong'}")
        memory.governance.rollback(one, 1, reason=f"no {WORD if one == page else 'wrong'}")
        memory.governance.freeze(one, reason=f"{WORD if one == page else 'wrong'} {HAN}")
        memory.governance.thaw(one, reason=f"{WORD if one == page else 'wrong'} over")
    memory.update(page, "bees")
    memory.wait()  # a job that reads meanwhile would keep the log of the file
    remove(memory, page)
    told = [event.detail for event in memory.log.events() if event.cube_id == page and event.detail]
    assert told == []
    assert files_with(folder, WORD) == []
    assert [note.reason for note in memory.governance.provenance(other).versions] == ["", "wrong", "no wrong"]


@pytest.mark.parametrize("remove", [delete, erase, expire])
def test_the_earlier_summaries_of_a_topic_go_with_its_page(place: str, clock, tmp_path: Path, remove):
    with memoryos.open(place, user="ann", settings=SETTINGS, clock=clock) as memory:
        pages = []
        for number in range(6):
            odd = f"{WORD.title()} {HAN}" if number == 2 else "goats"
            pages.append(memory.add(f"I love hiking with {odd} in the mountains of Norway.", "Norway is nice."))
            memory.consolidate()
            memory.wait()
        topic = max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube.id
        told = [WORD in one.text.lower() for one in memory.history(topic)]
        assert len(told) > 3
        assert any(told[:-1])
        memory.update(topic, f"Hiking with {WORD}.", reason=f"no {WORD}")
        memory.update(pages[2], "I love hiking in the mountains of Norway.")
        remove(memory, pages[2])
        memory.wait()
        assert len(memory.history(topic)) == 1
        assert [files_with(tmp_path, word) for word in (WORD, WORD.title(), HAN)] == [[], [], []]
        assert memory.governance.provenance(topic).versions[-1].by is not None


def relations(administrator: psycopg.Connection) -> Path:
    """The folder with all tables and indexes of the database."""
    question = "SELECT current_setting('data_directory'), pg_relation_filepath('pg_class')"
    folder, name = administrator.execute(question).fetchone()
    return Path(folder, name).parent


def test_the_index_of_another_process_loses_what_was_swept(tmp_path: Path, clock):
    path = tmp_path / "memory.db"
    with (
        memoryos.open(path, user="ann", settings=SETTINGS, clock=clock) as memory,
        memoryos.open(path, user="ann", settings=SETTINGS, clock=clock) as other,
    ):
        page = memory.add(f"The {WORD} is under the mat.", ttl=timedelta(hours=1))
        memory.wait()
        assert page in {hit.id for hit in other.search(WORD).hits}
        clock.advance(hours=1)
        memory.jobs.run()
        other.wait()  # it may have taken the job
        assert other.search(WORD).hits == ()
        with other._engine.vault.read(memory.scope) as reader:
            resident = other._engine.residency.following(memory.scope, reader, whole=True)
            assert page not in {cube.id for kind in Kind for cube in reader.cubes(kind)}
        assert resident.turns.total == 0
