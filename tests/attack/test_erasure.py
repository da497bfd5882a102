"""What was deleted is in no file of the store: not in its log while it is open, not in the file when it is closed."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

import memoryos
from contract import server
from memoryos import Memory, Role, Turn, load_settings, stores
from public import store_of

pytestmark = pytest.mark.file  # on PostgreSQL, where a test says so

SETTINGS = load_settings(embedder="hashing", short_term_capacity=1)
WORD = "zanzibarquux"
HAN = "量子茶壶"


def grep(folder: Path, word: str) -> list[str]:
    """The files below the folder that hold the word as UTF-8."""
    return [file.name for file in folder.rglob("*") if file.is_file() and word.encode() in file.read_bytes()]


def filled(memory: Memory) -> list[str]:
    pages = [memory.add(f"The {WORD} number {number}, {HAN}, is under the mat.", "Noted.") for number in range(6)]
    memory.add("The bees like lavender.", "Indeed.")
    memory.wait()
    return pages


def test_deleted_words_are_in_no_file_while_the_store_is_open_or_after(tmp_path):
    memory = memoryos.open(tmp_path / "memory.db", user="ann", settings=SETTINGS)
    for page in filled(memory):
        memory.delete(page)
    memory.wait()
    assert [grep(tmp_path, word) for word in (WORD, HAN)] == [[], []]
    memory.close()
    assert [grep(tmp_path, word) for word in (WORD, HAN)] == [[], []]


def test_a_reader_puts_the_emptying_of_the_log_off_until_the_next_write(tmp_path):
    memory = memoryos.open(tmp_path / "memory.db", user="ann", settings=SETTINGS)
    pages = filled(memory)
    with memory._engine.vault.read(store_of(memory).admin.scopes()[0]) as reader:
        reader.sequence()  # its snapshot is of before
        for page in pages:
            memory.delete(page)
        assert grep(tmp_path, WORD)
    memory.add("Something else.")
    memory.wait()
    assert grep(tmp_path, WORD) == []
    memory.close()


def test_scrub_writes_a_store_anew_and_leaves_its_memories(tmp_path):
    with memoryos.open(tmp_path / "memory.db", user="ann", settings=SETTINGS) as memory:
        for page in filled(memory):
            memory.delete(page)
        memory.wait()
        steps = []
        scrubbed = stores.scrub(tmp_path / "memory.db", progress=lambda done, total: steps.append((done, total)))
        assert scrubbed.is_complete and scrubbed.done == ("file", "log") and steps == [(1, 2), (2, 2)]
        assert scrubbed.nbytes_after <= scrubbed.nbytes_before
        assert [page.payload.turns[0].text for page in memory.pages.list()] == ["The bees like lavender."]
    assert stores.verify(tmp_path / "memory.db").is_sound


def test_scrub_on_postgres_says_what_the_role_may_not_do(tmp_path):
    place = server.store_of(tmp_path).render_as_string(hide_password=False)
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        for page in filled(memory):
            memory.delete(page)
        memory.wait()
    scrubbed = stores.scrub(place)
    assert any(name.startswith("cubes_") for name in scrubbed.done)
    assert not scrubbed.refused or "GRANT pg_checkpoint" in scrubbed.refused[-1]
    assert stores.verify(place).is_sound
    with psycopg.connect(place.replace("postgresql+psycopg", "postgresql")) as connection:
        dead = connection.execute("SELECT sum(n_dead_tup) FROM pg_stat_user_tables").fetchone()
    assert dead == (0,)


@pytest.mark.parametrize("rest", [[], ["The bees like lavender."]], ids=["nothing", "a page"])
def test_scrub_takes_deleted_words_out_of_the_statistics_on_postgres(tmp_path, rest):
    place = server.store_of(tmp_path).render_as_string(hide_password=False)
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        pages = filled(memory)
        with server.administrator(place.rpartition("/")[2].partition("?")[0]) as administrator:
            administrator.execute("ANALYZE")
            assert quoting(administrator)
            for page in [page.id for page in memory.pages.list()]:
                memory.delete(page)
            memory.add_many([Turn(role=Role.USER, text=text) for text in rest])
            memory.wait()
            scrubbed = stores.scrub(place)
            for refused in scrubbed.refused:
                if refused.startswith("statistics"):  # before PostgreSQL 18; what it says that a superuser has to do
                    administrator.execute(refused.partition("run ")[2])
                    assert "pg_statistic" in stores.scrub(place).done
            assert "pg_statistic" in scrubbed.done
            assert (len(pages), quoting(administrator)) == (6, [])
            assert WORD.encode() not in statistics_file(administrator).read_bytes()


def statistics_file(administrator: psycopg.Connection) -> Path:
    """The file in which PostgreSQL keeps samples of values, as it is on the disk now."""
    administrator.execute("CHECKPOINT")
    question = "SELECT current_setting('data_directory'), pg_relation_filepath('pg_statistic')"
    folder, name = administrator.execute(question).fetchone()
    return Path(folder, name)


def quoting(administrator: psycopg.Connection) -> list[str]:
    """The tables of whose values PostgreSQL keeps samples with the word."""
    samples = "concat(most_common_vals::text, histogram_bounds::text, most_common_elems::text)"
    found = administrator.execute(f"SELECT DISTINCT tablename FROM pg_stats WHERE {samples} ILIKE %s", [f"%{WORD}%"])
    return [table for (table,) in found]


def test_the_candidate_index_on_postgres_loses_deleted_words_at_once(tmp_path):
    place = server.store_of(tmp_path).render_as_string(hide_password=False)
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        pages = filled(memory)
        owner = store_of(memory).admin.scopes()[0]
        if not memory._engine.sources.move_out(owner):
            pytest.skip("there is no candidate index")
        before = indexed(place)
        for page in pages:
            memory.delete(page)
        assert (before, indexed(place)) == (14, 2)


def indexed(place: str) -> int:
    """How many turns the candidate indexes say that they hold."""
    with psycopg.connect(place.replace("postgresql+psycopg", "postgresql")) as connection:
        connection.execute("SELECT set_config('memoryos.every_tenant', 'on', true)")
        return connection.execute("SELECT sum(turns) FROM memoryos_candidates.owners").fetchone()[0]
