"""Verify: each kind of damage is found, and made right where the cubes say how."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest

import memoryos
from contract import server
from memoryos import stores
from memoryos.errors import EmbedderMismatch, InvalidInput, StorageError, StoreCorrupt, StoreReadOnly
from memoryos.infrastructure.vault.damage import DERIVED, Fault
from memoryos.interface.cli import render
from memoryos.models.embedder import load_embedder
from memoryos.operation.maintenance import mend
from stores.conftest import BOB, SETTINGS, begin_to_reembed, change_by_hand, content, fill, opened


def one(condition: str, number: int = 0, user: str = "ann") -> str:
    """SQL for the id of such a cube."""
    mine = f"SELECT id FROM cubes WHERE user_id = '{user}' AND {condition}"
    return f"({mine} ORDER BY position LIMIT 1 OFFSET {number})"


A_PAGE, OTHERS_PAGE = (one("kind = 'page' AND tier <> 'stm'", number) for number in (0, 1))
A_SEGMENT, SECOND_SEGMENT = (one("kind = 'segment'", number) for number in (0, 1))
ANOTHERS_SEGMENT = one("kind = 'segment'", user="carl")
A_FACT = one("kind = 'fact' AND version > 1")
A_TRAIT = one("kind = 'trait'")

# What is broken by hand, and every fault that is found then.
DAMAGES = {
    "tier": (f"UPDATE cubes SET tier = 'lpm' WHERE id = {A_PAGE}", {Fault.COLUMNS}),
    "kind": (f"UPDATE cubes SET kind = 'trait' WHERE id = {A_PAGE}", {Fault.COLUMNS, Fault.LINK}),
    "event_at": (f"UPDATE cubes SET event_at = event_at + 1 WHERE id = {A_FACT}", {Fault.COLUMNS}),
    "tags": (f"UPDATE cubes SET tags = NULL WHERE id = {A_PAGE}", {Fault.COLUMNS}),
    "version": (f"UPDATE cubes SET version = 7 WHERE id = {A_FACT}", {Fault.COLUMNS}),
    "no passages": (f"DELETE FROM passages WHERE cube_id = {A_PAGE}", {Fault.PASSAGES}),
    "a passage too many": (
        (
            f"INSERT INTO passages SELECT tenant, cube_id, 9, said_at, speaker, marks, words, vector, turn, start,"
            f' "end", NULL FROM passages WHERE cube_id = {A_PAGE} AND part = 1'
        ),
        {Fault.PASSAGES},
    ),
    "a passage that begins too late": (
        f"UPDATE passages SET start = 3 WHERE cube_id = {A_PAGE} AND part = 1",
        {Fault.PASSAGES},
    ),
    "a passage that ends too early": (
        f'UPDATE passages SET "end" = 3 WHERE cube_id = {A_PAGE} AND part = 1',
        {Fault.PASSAGES},
    ),
    "a passage that ends beyond its turn": (
        f'UPDATE passages SET "end" = 9999 WHERE cube_id = {A_PAGE} AND part = 1',
        {Fault.PASSAGES},
    ),
    "a passage of another turn": (
        f"UPDATE passages SET turn = 1 WHERE cube_id = {A_PAGE} AND part = 1",
        {Fault.PASSAGES},
    ),
    "a passage of another time": (
        f"UPDATE passages SET said_at = 1 WHERE cube_id = {A_PAGE} AND part = 1",
        {Fault.PASSAGES},
    ),
    "a passage of another speaker": (
        f"UPDATE passages SET speaker = 'Eve' WHERE cube_id = {A_PAGE} AND part = 1",
        {Fault.PASSAGES},
    ),
    "a short passage vector": (f"UPDATE passages SET vector = x'0000' WHERE cube_id = {A_PAGE}", {Fault.PASSAGES}),
    "a passage vector of nothing": (
        f"UPDATE passages SET vector = CAST(x'007c' || substr(vector, 3) AS BLOB) WHERE cube_id = {A_PAGE}",
        {Fault.PASSAGES},
    ),
    "no vector of a fact": (f"DELETE FROM vectors WHERE cube_id = {A_FACT}", {Fault.VECTOR}),
    "no vector of a segment": (f"DELETE FROM vectors WHERE cube_id = {A_SEGMENT}", {Fault.VECTOR}),
    "a short vector": (f"UPDATE vectors SET data = x'00000000' WHERE cube_id = {A_FACT}", {Fault.VECTOR}),
    "a vector of infinity": (
        f"UPDATE vectors SET data = CAST(x'0000807f' || substr(data, 5) AS BLOB) WHERE cube_id = {A_SEGMENT}",
        {Fault.VECTOR},
    ),
    "a page and its segment": (
        (
            f"UPDATE passages SET vector = x'0000' WHERE cube_id = {A_PAGE};"
            f"DELETE FROM vectors WHERE cube_id IN (SELECT target FROM links WHERE source = {A_PAGE})"
        ),
        {Fault.PASSAGES, Fault.VECTOR},
    ),
    "a fact in a segment": (
        f"INSERT INTO links SELECT tenant, id, 'member_of', {A_SEGMENT} FROM cubes WHERE id = {A_FACT}",
        {Fault.LINK, Fault.PLACE},
    ),
    "a page derived": (
        f"INSERT INTO links SELECT tenant, id, 'derived_from', {A_SEGMENT} FROM cubes WHERE id = {A_PAGE}",
        {Fault.LINK},
    ),
    "a chain to a fact": (
        f"INSERT INTO links SELECT tenant, id, 'chain', {A_FACT} FROM cubes WHERE id = {A_PAGE}",
        {Fault.LINK},
    ),
    "another owner's segment": (
        f"UPDATE links SET target = {ANOTHERS_SEGMENT} WHERE source = {A_PAGE} AND kind = 'member_of'",
        {Fault.LINK, Fault.PLACE},
    ),
    "a link of no kind": (
        f"INSERT INTO links SELECT tenant, id, 'hates', {A_FACT} FROM cubes WHERE id = {A_PAGE}",
        {Fault.STRAY},
    ),
    "two segments": (
        (
            "DROP INDEX links_one_segment;"
            f"INSERT INTO links SELECT tenant, source, kind, {SECOND_SEGMENT}"
            f" FROM links WHERE kind = 'member_of' AND target = {A_SEGMENT} LIMIT 1"
        ),
        {Fault.LINK, Fault.PLACE},
    ),
    "rows of no cube": (
        (
            "INSERT INTO vectors VALUES ('t', 'gone', 0, x'00', NULL);"
            "INSERT INTO passages VALUES ('t', 'gone', 1, 1, NULL, 0, '', x'00', 0, 0, 0, NULL);"
            "INSERT INTO versions VALUES ('t', 'gone', 1, '{}', NULL, NULL, NULL);"
            "INSERT INTO next_vectors VALUES ('t', 'gone', 0, 1, x'00');"
            f"INSERT INTO links SELECT tenant, id, 'chain', 'gone' FROM cubes WHERE id = {A_PAGE};"
            "INSERT INTO jobs VALUES ('t','u','a','private','j','extract','gone','queued',0,1,NULL,NULL,0,NULL,NULL)"
        ),
        {Fault.STRAY},
    ),
    "no membership": (f"DELETE FROM links WHERE source = {A_PAGE} AND kind = 'member_of'", {Fault.PLACE}),
    "a torn document": (f"UPDATE cubes SET document = substr(document, 9) WHERE id = {A_PAGE}", {Fault.DOCUMENT}),
    "another's document": (
        f"UPDATE cubes SET document = (SELECT document FROM cubes WHERE id = {OTHERS_PAGE}) WHERE id = {A_PAGE}",
        {Fault.DOCUMENT},
    ),
    "another owner": (f"UPDATE cubes SET user_id = 'eve' WHERE id = {A_TRAIT}", {Fault.DOCUMENT}),
    "a version is missing": (f"DELETE FROM versions WHERE cube_id = {A_FACT}", {Fault.VERSIONS}),
    "a torn version": (f"UPDATE versions SET document = '{{' WHERE cube_id = {A_FACT}", {Fault.VERSIONS}),
    "another's version": (
        f"UPDATE versions SET document = (SELECT document FROM cubes WHERE id = {A_PAGE}) WHERE cube_id = {A_FACT}",
        {Fault.VERSIONS},
    ),
    "one position twice": (
        (
            "DROP INDEX cubes_by_position;"
            f"UPDATE cubes SET position = (SELECT position FROM cubes WHERE id = {OTHERS_PAGE}) WHERE id = {A_TRAIT}"
        ),
        {Fault.POSITION},
    ),
    "an event of nothing": ("UPDATE events SET cube_id = 'never' WHERE sequence = 2", {Fault.EVENT}),
    "an event of no kind": ("UPDATE events SET operation = 'sing' WHERE sequence = 2", {Fault.EVENT}),
    "an entry of the audit log": ("UPDATE audit SET caller = 'somebody' WHERE number = 1", {Fault.AUDIT}),
    "no entry of the audit log": ("DELETE FROM audit", {Fault.AUDIT}),
    "a job of no kind": ("UPDATE jobs SET state = 'lost' WHERE id IN (SELECT min(id) FROM jobs)", {Fault.JOB}),
    "a job of another owner": ("UPDATE jobs SET user_id = 'eve' WHERE id IN (SELECT min(id) FROM jobs)", {Fault.JOB}),
}
SECOND = ("a fact in a segment", "two segments")
# A page that is in a segment too many is in its place when that link is gone.
MENDED = [name for name, (_, found) in DAMAGES.items() if found <= DERIVED or name in SECOND]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A store, made once, and what is in it."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    with opened(str(path)) as memory:
        fill(memory)
    begin_to_reembed(str(path))
    return path.read_bytes(), content(str(path))


@pytest.fixture
def store(template, tmp_path) -> str:
    path = tmp_path / "memory.db"
    path.write_bytes(template[0])
    return str(path)


def break_it(store: str, statements: str) -> None:
    change_by_hand(store, "PRAGMA foreign_keys = OFF", *statements.split(";"))


def faults(report):
    return {damage.fault for damage in report.damages}


def test_a_store_that_is_sound_is_told_so_and_left_as_it_is(store):
    before = Path(store).read_bytes()
    report = stores.verify(store)
    assert report.damages == ()
    assert report.checked["cubes"] == len(content(store)["cubes"])
    assert Path(store).read_bytes() == before


@pytest.mark.parametrize("name", list(DAMAGES))
def test_each_kind_of_damage_is_found(store, name):
    statements, expected = DAMAGES[name]
    before = content(store)
    break_it(store, statements)
    assert content(store) != before
    assert faults(stores.verify(store)) == expected


@pytest.mark.parametrize("name", MENDED)
def test_what_is_derived_is_made_again(store, template, name):
    break_it(store, DAMAGES[name][0])
    report = stores.verify(store, repair=True, settings=SETTINGS)
    assert report.damages == ()
    assert report.repaired >= 1
    after, before = content(store), template[1]
    assert after["cubes"] == before["cubes"], "byte for byte"
    assert without_vectors(after) == without_vectors(before)
    assert [row[:3] for row in after["vectors"]] == [row[:3] for row in before["vectors"]]
    assert after["passages"] == before["passages"]


def without_vectors(found):
    return {name: rows for name, rows in found.items() if name not in ("vectors", "passages", "events")}


@pytest.mark.parametrize("name", [name for name in DAMAGES if name not in MENDED])
def test_what_is_not_derived_is_told_and_left(store, name):
    statements, expected = DAMAGES[name]
    break_it(store, statements)
    before = content(store)
    report = stores.verify(store, repair=True, settings=SETTINGS)
    assert faults(report) == expected - DERIVED
    after = content(store)
    for table in ("cubes", "versions", "jobs", "notes", "usage"):
        assert after[table] == before[table]


def test_a_memory_that_is_open_finds_again_what_was_mended(store):
    with opened(store) as memory:
        page = memory.search("telescope Saturn").hits[0]
        break_it(store, f"DELETE FROM passages WHERE cube_id = '{page.id}'")
    with opened(store) as memory:
        stores.verify(store, repair=True, settings=SETTINGS)
        assert page.id in [hit.id for hit in memory.search(page.text).hits]


def test_wrong_columns_cost_no_link(store):
    """Every page taken for a trait has impossible links, until its columns are right again."""
    before = content(store)["links"]
    break_it(store, "UPDATE cubes SET kind = 'trait' WHERE kind = 'page'")
    report = stores.verify(store, repair=True, settings=SETTINGS)
    assert report.damages == ()
    assert content(store)["links"] == before


def test_a_great_deal_of_damage_is_mended_in_portions(store, monkeypatch):
    monkeypatch.setattr(mend, "AT_A_TIME", 3)
    before = content(store)
    break_it(store, "DELETE FROM passages; DELETE FROM vectors; UPDATE cubes SET tier = 'stm', tags = '[]'")
    report = stores.verify(store, repair=True, settings=SETTINGS)
    assert report.damages == ()
    after = content(store)
    assert after["passages"] == before["passages"]
    assert [row[:2] for row in after["vectors"]] == [row[:2] for row in before["vectors"]]
    assert {row[0] for row in after["passages"]} == {"default", BOB.tenant}


def test_a_damaged_cube_does_not_keep_others_from_being_mended(store):
    break_it(
        store,
        f"INSERT INTO links SELECT tenant, id, 'chain', {A_FACT} FROM cubes WHERE id = {A_PAGE};"
        f"DELETE FROM vectors WHERE cube_id = {A_FACT};"
        f"UPDATE cubes SET document = '{{' WHERE id = {A_PAGE}",
    )
    assert faults(stores.verify(store, repair=True, settings=SETTINGS)) == {Fault.DOCUMENT, Fault.LINK}


def test_damage_is_told_without_a_word_of_a_user(store):
    break_it(store, 'UPDATE cubes SET document = replace(document, \'"type":"page"\', \'"type":"Saturn"\')')
    damages = stores.verify(store).damages
    assert {damage.fault for damage in damages} >= {Fault.DOCUMENT}
    assert "Saturn" not in repr(damages)


def test_repair_takes_the_embedder_of_the_store(store):
    break_it(store, DAMAGES["no passages"][0])
    with pytest.raises(EmbedderMismatch, match="hashing"):
        stores.verify(store, repair=True, embedder=load_embedder("static"))
    assert stores.verify(store, repair=True, embedder=load_embedder("hashing")).repaired == 1


def test_a_backup_is_not_repaired(store, tmp_path):
    stores.backup(store, tmp_path / "backup.db")
    with pytest.raises(InvalidInput, match="is a backup"):
        stores.verify(tmp_path / "backup.db", repair=True, settings=SETTINGS)


def test_an_index_that_lost_a_row_is_found(store):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = sql || ' WHERE id > ''y''' WHERE name = 'cubes_by_owner'")
        connection.commit()
    assert faults(stores.verify(store)) == {Fault.FILE}


def test_a_torn_file_is_found(store):
    data = bytearray(Path(store).read_bytes())
    data[8192:12288] = bytes(4096)
    Path(store).write_bytes(data)
    with suppress(StoreCorrupt):
        assert Fault.FILE in faults(stores.verify(store))


def test_a_store_of_an_older_schema_is_not_upgraded_by_looking_at_it(store):
    break_it(store, "UPDATE alembic_version SET version_num = '0005'")
    with pytest.raises(StorageError, match="older schema"):
        stores.verify(store)


def test_a_store_on_a_server_is_held_against_its_cubes_too(full):
    place = full("postgres")
    assert stores.verify(place).is_sound
    database = place.split("/")[-1].split("?")[0]
    with server.administrator(database) as connection:
        assert isinstance(connection, psycopg.Connection)
        connection.execute(f"UPDATE cubes SET tier = 'lpm' WHERE id = {A_PAGE}")
        connection.execute(f"DELETE FROM passages WHERE cube_id = {OTHERS_PAGE}")
        connection.execute(
            f"INSERT INTO links SELECT tenant, id, 'chain', {A_FACT} FROM cubes WHERE id = {OTHERS_PAGE}"
        )
        connection.execute("UPDATE events SET operation = 'sing' WHERE sequence = 2")
    expected = {Fault.COLUMNS, Fault.PASSAGES, Fault.LINK, Fault.EVENT}
    assert faults(stores.verify(place)) == expected
    assert faults(stores.verify(place, repair=True, settings=SETTINGS)) == {Fault.EVENT}


def test_versions_that_an_operation_left_out_are_no_damage(tmp_path: Path):
    """Of a field that one page changes more than 32 times, the history keeps the first version and the last 32."""
    path = tmp_path / "towns.db"
    with memoryos.open(path, user="tom", settings=SETTINGS) as memory:
        for first in (0, 40):
            memory.add(" ".join(f"I live in Town{number}." for number in range(first, first + 40)), "I see.")
            memory.wait()
    assert stores.verify(path).damages == ()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM versions WHERE version = (SELECT max(version) - 3 FROM versions)")
    assert faults(stores.verify(path)) == {Fault.VERSIONS}


@pytest.mark.parametrize("content", ["", "PRAGMA user_version = 1"], ids=["no bytes", "no tables"])
def test_an_empty_file_holds_no_store_and_is_left_as_it_is(tmp_path: Path, content: str):
    path, other = tmp_path / "empty.db", tmp_path / "other.db"
    path.touch()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(content)
    before = path.read_bytes()
    uses = [
        lambda: stores.verify(path),
        lambda: stores.backup(path, other),
        lambda: stores.copy(path, other),
        lambda: stores.scrub(path),
        lambda: memoryos.open(path, user="tom", settings=SETTINGS, read_only=True),
    ]
    for use in uses:
        with pytest.raises((InvalidInput, StoreReadOnly), match="empty"):
            use()
    assert path.read_bytes() == before
    assert not other.exists()


def test_an_empty_file_becomes_a_store_where_one_may_be_made(tmp_path: Path):
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(InvalidInput, match="empty and holds no MemoryOS store"):
        stores.verify(path, repair=True, settings=SETTINGS)
    with memoryos.open(path, user="tom", settings=SETTINGS) as memory:
        memory.add("I keep bees.")
    assert stores.verify(path).is_sound


@pytest.mark.once
@pytest.mark.parametrize("is_screen", [False, True])
def test_a_bar_leaves_nothing_behind(capsys, monkeypatch, is_screen):
    monkeypatch.setenv("FORCE_COLOR", "1" if is_screen else "")
    with render.counted("verifying", quiet=False):
        pass
    told = capsys.readouterr()
    assert told.out == ""
    assert ("verifying" in told.err) == is_screen
    assert told.err.endswith("\x1b[2K") == is_screen, "the line is erased"
