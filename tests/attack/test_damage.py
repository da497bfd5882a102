"""Bytes of real files that change by themselves: what is damaged is named, left out, and never quoted."""

from __future__ import annotations

import importlib
import logging
import pkgutil
import random
import re
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import typer

import memoryos
from contract import server
from memoryos import Memory, infrastructure, load_settings, operation, stores
from memoryos.clock import system_clock
from memoryos.errors import CubeDamaged, InvalidInput, KeyReused, MemoryOSError, NotFound, StoreCorrupt
from memoryos.infrastructure.vault import selection_part, strays
from memoryos.infrastructure.vault.damage import Fault
from memoryos.infrastructure.vault.note import Note
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.infrastructure.vault.selection import Selection
from memoryos.interface.cli import stores_command
from memoryos.kinds import Kind
from memoryos.known_notes import KNOWN_NOTES
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.redescribe import describe_corrected
from memoryos.operation.scheduler.job_runner import MOST_TRIES
from memoryos.scope import Scope
from public import store_of

pytestmark = pytest.mark.file  # on PostgreSQL, where a test says so

SETTINGS = load_settings(embedder="hashing", short_term_capacity=2, mid_term_capacity=3, heat_threshold=0)
SECRET = "zanzibarquux"
SAID = [f"The {SECRET} number {number} is hidden under the kitchen mat." for number in range(12)]
PAGE = 4096  # bytes
FLIPS, LONG_FLIPS = 15, 3000  # of the whole file
SCHEMA_FLIPS, LONG_SCHEMA_FLIPS = 10, 1000  # or more, until one is met at a door

LONG = pytest.mark.timeout(3_600)  # with `--long`, on a busy machine


def opened(path: Path, **options: Any) -> Memory:
    return memoryos.open(path, user="ann", settings=SETTINGS, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A store with something of everything, which nobody has open."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    with opened(path) as memory:
        pages = [memory.add(text, "Noted.") for text in SAID]
        memory.add("I live in Lisbon.")
        memory.update(pages[3], f"The {SECRET} number 3 is in the garden now.")
        memory.wait()
        memory.consolidate()
    return path


@pytest.fixture
def store(whole, tmp_path) -> Path:
    path = tmp_path / "memory.db"
    path.write_bytes(whole.read_bytes())
    return path


def changed(path: Path, number: int, old: bytes, new: bytes) -> None:
    """Change bytes of the document of one page, in the file itself."""
    data = path.read_bytes()
    place = data.index(f'The {SECRET} number {number} is hidden under the kitchen mat.","speaker"'.encode())
    at = data.index(old, place)
    path.write_bytes(data[:at] + new + data[at + len(old) :])


def the_damaged(path: Path) -> str:
    (damage,) = [one for one in stores.verify(path).damages if one.fault is Fault.DOCUMENT]
    return damage.id


@pytest.mark.parametrize("new", [b"\xffitchen", b"mitchen"], ids=["no UTF-8", "another letter"])
def test_a_damaged_page_is_named_left_out_and_never_quoted(store, new, caplog):
    changed(store, 7, b"kitchen", new)
    page = the_damaged(store)
    caplog.set_level(logging.DEBUG)
    with opened(store) as memory:
        hits = memory.search(f"{SECRET} number 7 kitchen", pages=20).hits
        assert hits and page not in {hit.id for hit in hits}
        assert memory.context(f"{SECRET} number").text
        with pytest.raises(CubeDamaged, match=f"{page}.*restore") as raised:
            memory.get(page)
    assert page in {getattr(record, "cube", None) for record in caplog.records}
    assert any(page in record.getMessage() for record in caplog.records), "who reads stderr sees no other field"
    assert SECRET not in caplog.text + str(raised.value) + str(raised.value.__cause__) + str(raised.value.__context__)


def test_the_command_says_what_to_do_about_a_damaged_document(store, capsys):
    changed(store, 7, b"kitchen", b"mitchen")
    with pytest.raises(typer.Exit):
        stores_command.verify(db=str(store))
    told = capsys.readouterr().out
    assert "restore the store from a backup" in told and the_damaged(store) in told
    with pytest.raises(InvalidInput, match="Name the store once"):
        stores_command.scrub(str(store), db=str(store))


COPIES = {
    "backup": lambda store, to: stores.backup(store, to, settings=SETTINGS),
    "copy": lambda store, to: stores.copy(store, to, settings=SETTINGS),
}


@pytest.mark.parametrize("copy", COPIES)
def test_a_copy_names_the_memory_with_bytes_that_are_no_utf_8_and_quotes_nothing(store, tmp_path, copy):
    changed(store, 7, b"kitchen", b"\xffitchen")
    with pytest.raises(StoreCorrupt, match=f"a row of cubes of the memory {the_damaged(store)} is damaged") as raised:
        COPIES[copy](store, tmp_path / "to.db")
    assert SECRET not in str(raised.value) + str(raised.value.__cause__) + str(raised.value.__context__)


BAD_NAME = b"an\xffa"  # no UTF-8


def misname(path: Path, table: str, column: str) -> None:
    """Put the bad name into a column of the first row of ann's, whatever refers to it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        first = f"rowid = (SELECT min(rowid) FROM {table} WHERE user_id = 'ann')"
        connection.execute(f"UPDATE {table} SET {column} = CAST(? AS TEXT) WHERE {first}", (BAD_NAME,))


@pytest.mark.parametrize("column", ["tenant", "user_id", "agent_id", "namespace"])
def test_an_owner_whose_name_is_no_utf_8_is_named_and_keeps_nobody_else_from_the_store(store, tmp_path, caplog, column):
    with memoryos.open(store, user="zoe", settings=SETTINGS) as memory:
        memory.add("I like green tea.")
    misname(store, "cubes", column)
    damaged = [one for one in stores.verify(store, settings=SETTINGS).damages if one.fault is Fault.DOCUMENT]
    assert [one.detail for one in damaged] == ["is of another cube, or of another owner"]
    assert ask(store, f"SELECT count(*) FROM cubes WHERE id = '{damaged[0].id}'") == 1
    with opened(store) as memory:
        admin = store_of(memory).admin
        assert {scope.user for scope in admin.scopes()} == {"ann", "zoe"}
        parts = [admin.scopes(limit=1)]
        while parts[-1].cursor:
            parts.append(admin.scopes(limit=1, cursor=parts[-1].cursor))
        assert [scope for part in parts for scope in part] == admin.scopes(), "one who is left out ends no listing"
        assert admin.users() == [one.user for one in store_of(memory).users.list()] == ["ann", "zoe"]
        assert {one.agent for one in store_of(memory).agents.list()} == {"default"}
        memory.add("New words.")
        memory.wait()
        assert memory.search(SECRET).hits
    logged = "an owner with a damaged name is left out" in caplog.text
    assert logged or column == "tenant", "of the tenant that was asked for, nobody is left out"
    for copy in COPIES:
        with pytest.raises(StoreCorrupt, match=f"of the memory {damaged[0].id} is damaged"):
            COPIES[copy](store, tmp_path / f"{copy}.db")
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("table", "column", "fault"),
    [("events", "user_id", Fault.EVENT), ("jobs", "kind", Fault.JOB), ("notes", "user_id", Fault.NOTE)],
)
def test_rows_with_names_that_are_no_utf_8_are_named(noted, tmp_path, table, column, fault):
    path = copy_of(noted, tmp_path / "memory.db")
    misname(path, table, column)
    assert fault in {damage.fault for damage in stores.verify(path, settings=SETTINGS).damages}
    with opened(path) as memory:
        memory.add("New words.")
        memory.wait()


@pytest.mark.parametrize("column", ["state", "tier", "kind"])
@pytest.mark.parametrize("kind", ["page", "segment", "fact"])
def test_a_memory_with_a_column_that_no_program_writes_stops_nothing(store, tmp_path, caplog, column, kind):
    with opened(store) as memory:
        memory.facts.add("I own a boat.")
    last = f"rowid = (SELECT max(rowid) FROM cubes WHERE kind = '{kind}')"
    by_hand(store, f"UPDATE cubes SET {column} = 'acthve' WHERE {last}")
    (damage,) = [one for one in stores.verify(store).damages if one.fault is Fault.COLUMNS]
    assert damage.detail == column
    assert stores.verify(copy_of(store, tmp_path / "repaired.db"), repair=True, settings=SETTINGS).is_sound
    with opened(store) as memory:
        assert memory.stats().to_dict()["jobs_dead"] == 0
        assert column == "state" or f"memory {damage.id} is damaged" in caplog.text, "it is not counted"
        memory.export(tmp_path / "ann.jsonl")
        assert damage.id in (tmp_path / "ann.jsonl").read_text()
        for number in range(4):
            memory.add(f"The bees are back for the {number}. time.")
        memory.wait()
        memory.consolidate()
        memory.upkeep.rebuild()
        assert memory.jobs.list("dead") == []
    assert SECRET not in caplog.text


@pytest.mark.parametrize("version", ["'zebra'", "x''", "1.5"])
def test_a_version_of_a_memory_that_is_no_number_stops_nothing(store, tmp_path, caplog, version):
    with opened(store) as memory:
        page = memory.add("I live in Porto. My name is Ann.")
        memory.consolidate()
        memory.update(page, "I live in Porto now. My name is Ann.")
        memory.consolidate()
    by_hand(store, f"UPDATE cubes SET version = {version} WHERE kind <> 'page'")
    damages = [one for one in stores.verify(store).damages if one.fault is Fault.COLUMNS]
    assert damages and {one.detail for one in damages} == {"version"}
    with opened(store) as memory:
        memory.export(tmp_path / "ann.jsonl")
        memory.delete(page)
        memory.consolidate()
        assert memory.jobs.list("dead") == []
    assert any(f"memory {one.id} is damaged" in caplog.text for one in damages)
    assert stores.verify(store, repair=True, settings=SETTINGS).is_sound


@pytest.mark.timeout(60)
@pytest.mark.parametrize("position", ["x''", "x'01'", "'zebra'", "0", "-7", "9223372036854775807"])
def test_a_memory_with_a_damaged_position_is_named_and_no_list_is_endless(store, caplog, position):
    with opened(store) as memory:
        facts = [memory.facts.add(f"I own the boat number {number}.") for number in range(3)]
    by_hand(store, f"UPDATE cubes SET position = {position} WHERE id = '{facts[0]}'")
    (damage,) = stores.verify(store, settings=SETTINGS).damages
    assert (damage.fault, damage.id, damage.can_be_repaired) == (Fault.POSITION, facts[0], False)
    with opened(store) as memory:
        listed = {fact.id for fact in memory.facts.list()}
        assert listed >= set(facts[1:])
        assert facts[0] not in listed
        assert f"memory {facts[0]} is damaged" in caplog.text
        memory.add("New words.")
        memory.facts.add("I own a car.")


@pytest.mark.timeout(60)
@pytest.mark.parametrize("positions", [("x'01'", "x'02'", "x'03'"), ("'a'", "'b'", "'c'"), ("0", "-7", "-8")])
@pytest.mark.parametrize("damaged", [slice(0, 3), slice(2, 5), slice(4, 7)])
def test_a_list_goes_on_behind_more_damaged_positions_than_are_read_at_a_time(store, monkeypatch, positions, damaged):
    monkeypatch.setattr(selection_part, "_AT_ONCE", 2)
    with opened(store) as memory:
        facts = [memory.facts.add(f"I own the boat number {number}.") for number in range(7)]
    for fact, position in zip(facts[damaged], positions, strict=True):
        by_hand(store, f"UPDATE cubes SET position = {position} WHERE id = '{fact}'")
    sound = [fact for fact in facts if fact not in facts[damaged]]
    with opened(store) as memory, memory._engine.vault.view(memory.scope) as reader:
        wanted = Selection(Kind.FACT, system_clock())
        for is_latest in (False, True):
            found = [one.cube.id for one in reader.listed(wanted, is_latest=is_latest) if one.cube.id in facts]
            assert found == (sound[::-1] if is_latest else sound)


@pytest.mark.parametrize("column", ["attempts", "created_at", "lease_until", "priority", "not_before"])
def test_a_job_with_text_for_a_number_is_named_and_stops_nothing(store, caplog, column):
    by_hand(store, f"UPDATE jobs SET state = 'queued', {column} = 'x'")
    assert Fault.JOB in {damage.fault for damage in stores.verify(store, settings=SETTINGS).damages}
    for user in ("ann", "bob"):
        with memoryos.open(store, user=user, settings=SETTINGS) as memory:
            for number in range(4):
                memory.add(f"The bees are back for the {number}. time.")
            memory.consolidate()
            memory.wait()
            assert {job.state for job in memory.jobs.list()} == {"done"}
    assert "failed" not in caplog.text


@pytest.mark.parametrize("payload", ["zebra", "", "5", "[1]", "[" * 90_000], ids=["word", "empty", "5", "list", "deep"])
def test_a_job_with_a_damaged_payload_is_named_and_stops_no_other(store, payload):
    by_hand(store, f"UPDATE jobs SET state = 'queued', attempts = 0, payload = '{payload}'")
    with closing(sqlite3.connect(store)) as connection:
        damaged = {one for (one,) in connection.execute("SELECT id FROM jobs")}
    assert Fault.JOB in {damage.fault for damage in stores.verify(store, settings=SETTINGS).damages}
    with opened(store) as memory:
        for again in (False, True):
            for number in range(4):
                memory.add(f"The bees are back for the {number}. time. {again}")
            for door in (memory.consolidate, memory.wait, memory.upkeep.rebuild, memory.jobs.run):
                door()
            dead = [job for job in memory.jobs.list() if job.id in damaged]
            assert {(job.state, job.payload) for job in dead} == {("dead", None)}
            assert all("the payload of the job is damaged" in job.error for job in dead)
            assert {job.state for job in memory.jobs.list() if job not in dead} == {"done"}
            assert memory.jobs.retry() == len(dead)
    assert Fault.JOB in {damage.fault for damage in stores.verify(store, settings=SETTINGS).damages}


def test_a_version_without_a_number_is_named(store):
    by_hand(store, "UPDATE versions SET version = 'x' WHERE cube_id IN (SELECT id FROM cubes WHERE kind = 'page')")
    (damage,) = [one for one in stores.verify(store).damages if one.fault is Fault.VERSIONS]
    assert "no number" in damage.detail


def test_an_export_names_the_memory_with_a_version_without_a_number(store, tmp_path):
    """Python compared the text with a number."""
    by_hand(store, "UPDATE versions SET version = 'x' WHERE rowid = (SELECT min(rowid) FROM versions)")
    (damage,) = [one for one in stores.verify(store).damages if one.fault is Fault.VERSIONS]
    with opened(store) as memory:
        for read in (lambda: memory.history(damage.id), lambda: memory.export(tmp_path / "ann.jsonl")):
            with pytest.raises(CubeDamaged, match=damage.id):
                read()


def test_a_vector_without_a_checksum_and_of_another_length_is_left_out(store, caplog):
    """An older program wrote it, and half of it is gone: NumPy refused to multiply it."""
    with opened(store) as memory:
        memory.branches.create("try")
    by_hand(store, "UPDATE vectors SET data = substr(data, 1, 40)")
    assert ask(store, "SELECT count(*) FROM vectors WHERE checksum IS NOT NULL") == 0
    with opened(store) as memory:
        assert memory.branch("try").search(SECRET).hits
        memory.add("I live in Porto.")
        memory.consolidate()
        assert memory.search(SECRET).hits
    assert "vector" in caplog.text


@pytest.mark.parametrize("key", ["'iold:' || substr(key, 6)", "substr(key, 1, 40) || 'z'"])
def test_a_legal_hold_under_another_key_is_named(store, key):
    with opened(store) as memory:
        memory.governance.hold(reason=SECRET, memory=memory.pages.list()[0].id)
    assert stores.verify(store).is_sound
    by_hand(store, f"UPDATE notes SET key = {key} WHERE key LIKE 'hold:%'")
    (damage,) = stores.verify(store).damages
    assert damage.fault is Fault.NOTE and "legal hold" in damage.detail and SECRET not in damage.detail


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("UPDATE meta SET key = 'embeddes' WHERE key = 'embedder'", "meta does not name the embedder"),
        ("DELETE FROM alembic_version", "alembic_version"),
    ],
)
def test_a_store_that_does_not_tell_its_embedder_or_its_schema_is_damaged(store, script, said):
    """It was called old or empty, and took the next embedder for its own."""
    by_hand(store, script)
    for use in (lambda: stores.verify(store), lambda: opened(store), lambda: opened(store, read_only=True)):
        with pytest.raises(StoreCorrupt, match=said):
            use()
    with pytest.raises(StoreCorrupt, match=said):
        memoryos.open(store, user="ann", settings=load_settings(embedder="static"))


def test_a_damaged_record_of_the_last_audit_entry_is_named_and_an_error_of_ours(tmp_path, caplog):
    path, settings = tmp_path / "audited.db", SETTINGS.model_copy(update={"audit": True})
    with memoryos.open(path, user="ann", settings=settings) as memory:
        memory.add("I keep bees.")
    by_hand(path, "UPDATE audit_heads SET number = 'x'")
    assert any(one.fault is Fault.AUDIT for one in stores.verify(path).damages)
    with pytest.raises(StoreCorrupt, match="audit"), memoryos.open(path, user="ann", settings=settings) as memory:
        memory.add("I keep hens.")
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("tags", ["NaN", "[1]", '["a', "{}"])
def test_damaged_labels_of_a_memory_stop_no_search_and_no_change(store, tags):
    by_hand(store, f"UPDATE cubes SET tags = '{tags}' WHERE kind = 'page'")
    assert {one.detail for one in stores.verify(store).damages if one.fault is Fault.COLUMNS} == {"tags"}
    with opened(store) as memory:
        found = memory.search(f"{SECRET} number 7 kitchen").hits
        assert found
        memory.update(found[0].id, "It is gone.", tags=["old"])
        memory.consolidate()
        assert memory.get(found[0].id).tags == ("old",)


def test_a_damaged_column_of_a_damaged_document_is_an_error_with_the_id(store, tmp_path):
    changed(store, 7, b"kitchen", b"\xffitchen")
    page = the_damaged(store)
    by_hand(store, f"UPDATE cubes SET kind = 'pagd' WHERE id = '{page}'")
    with opened(store) as memory:
        with pytest.raises(CubeDamaged, match=page):
            memory.export(tmp_path / "ann.jsonl")
        assert memory.stats()


def test_a_damaged_page_still_counts(store):
    changed(store, 7, b"kitchen", b"mitchen")
    with opened(store) as memory:
        assert memory.pages.count() - len(memory.pages.list()) == 1
        assert memory.pages.count(role="user") == len(memory.pages.list(role="user"))  # it has to read them


def test_a_damaged_page_can_be_deleted_and_the_store_is_sound_again(store):
    changed(store, 7, b"kitchen", b"\xffitchen")
    page = the_damaged(store)
    with opened(store) as memory:
        memory.delete(page)
        memory.wait()
        memory.add("New words.")
        memory.wait()
    assert not [one for one in stores.verify(store).damages if one.fault is Fault.DOCUMENT]


def test_a_damaged_vector_or_passage_is_found_and_made_again(store):
    by_hand(store, "UPDATE passages SET checksum = checksum + 1 WHERE part = 1; UPDATE vectors SET checksum = 1")
    found = {damage.fault for damage in stores.verify(store).damages}
    assert found == {Fault.PASSAGES, Fault.VECTOR}
    with opened(store) as memory:
        memory.search(SECRET)
    assert stores.verify(store, repair=True, settings=SETTINGS).is_sound


def test_a_damaged_version_is_named(store):
    by_hand(store, "UPDATE versions SET checksum = checksum + 1")
    (damage, *_) = stores.verify(store).damages
    assert damage.fault is Fault.VERSIONS
    with opened(store) as memory, pytest.raises(CubeDamaged, match=damage.id):
        memory.history(damage.id)


def test_what_an_older_program_changes_is_not_taken_for_damage(store):
    by_hand(store, "UPDATE cubes SET document = document || ' '; UPDATE vectors SET data = data || x'00'")
    assert ask(store, "SELECT count(*) FROM cubes WHERE checksum IS NOT NULL") == 0
    assert ask(store, "SELECT count(*) FROM vectors WHERE checksum IS NOT NULL") == 0
    with opened(store) as memory:
        assert len(memory.pages.list()) == len(SAID) + 1
    stores.scrub(store)
    assert ask(store, "SELECT count(*) FROM cubes WHERE checksum IS NULL") == 0


def test_a_byte_of_the_schema_is_told_as_damage(store):
    data = store.read_bytes()
    at = data.index(b"CREATE TABLE cubes")
    for place in range(at, at + 200, 9):
        store.write_bytes(data[:place] + b"\xff" + data[place + 1 :])
        with suppress(StoreCorrupt), opened(store) as memory:
            memory.search(SECRET)


DOORS = {
    "search": lambda memory, page: memory.search(SECRET),
    "add": lambda memory, page: memory.add("New words."),
    "update": lambda memory, page: memory.update(page, "Other words."),
    "delete": lambda memory, page: memory.delete(page),
    "facts.add": lambda memory, page: memory.facts.add("I like cats."),
    "wait": lambda memory, page: memory.wait(),
}


@pytest.mark.parametrize(
    ("place", "letter"),
    [
        (b"\tspeaker TEXT", b"\tsqeaker TEXT"),
        (b"\toperation TEXT", b"\topera\xf4ion TEXT"),
        (b"REFERENCES cubes (tenant, id)", b"REFERENCES cubes (tenant, kd)"),
    ],
    ids=["a column", "no UTF-8", "a key"],
)
def test_every_door_names_a_damaged_schema_the_same_way(store, place, letter):
    data = store.read_bytes()
    assert place in data
    store.write_bytes(data.replace(place, letter))
    told = []
    with suppress(StoreCorrupt), opened(store) as memory:
        page = memory.pages.list()[0].id
        told += [refusal(door, memory, page) for door in DOORS.values()]
    assert {type(error) for error in told if error} == {StoreCorrupt}


KEYED = ["links", "sqlite_autoindex_cubes_1", "sqlite_autoindex_links_1", "sqlite_autoindex_passages_1"]


@LONG
@pytest.mark.parametrize("place", KEYED)
def test_rows_and_indexes_that_contradict_each_other_are_told_as_damage(whole, tmp_path, place, long):
    """One bit of an id is flipped in a page of a table or of its index: the two differ, and keys are no longer kept."""
    chance, data = random.Random(19), whole.read_bytes()
    at = (ask(whole, f"SELECT rootpage FROM sqlite_schema WHERE name = '{place}'") - 1) * PAGE
    ids = [at + found.start() for found in re.finditer(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-", data[at : at + PAGE])]
    kinds = set()
    for number, one in enumerate(chance.sample(ids, len(ids) if long else 2)):
        flipped = bytearray(data)
        flipped[one + chance.randrange(36)] ^= 1
        path = tmp_path / f"{number}.db"
        path.write_bytes(flipped)
        with suppress(StoreCorrupt), opened(path) as memory:
            page = memory.pages.list()[0].id
            kinds |= {type(refusal(door, memory, page)) for door in DOORS.values()}
        kinds |= {type(refusal(lambda path, _: stores.verify(path, repair=True, settings=SETTINGS), path, ""))}
    assert kinds <= {type(None), StoreCorrupt, CubeDamaged, NotFound}


def test_a_topic_whose_pages_an_index_hides_is_told_as_damage(store):
    """A bit of an index was flipped, and `update` of a page raised ValueError: its topic had no page."""
    with opened(store) as memory:
        topic = memory.segments.list()[0].cube.id
        with memory._engine.vault.read(memory.scope) as reader:
            hiding = SimpleNamespace(get=reader.get, sources=lambda *_: [])
            with pytest.raises(StoreCorrupt, match=f"{topic}.*verify --repair"):
                describe_corrected(Changes(hiding), [topic], datetime.now(UTC), {})


def refusal(door: Callable[[Any, str], object], memory: object, page: str) -> MemoryOSError | None:
    try:
        door(memory, page)
    except MemoryOSError as error:
        return error
    return None


@LONG
def test_flipped_bits_of_the_schema_raise_the_same_error_at_every_door(whole, tmp_path, long):
    chance, data = random.Random(1), whole.read_bytes()
    tables = [found.start() for found in re.finditer(rb"CREATE (TABLE|INDEX|TRIGGER|UNIQUE)", data)]
    told = []
    for number in range(LONG_SCHEMA_FLIPS):
        flipped = bytearray(data)
        flipped[chance.choice(tables) + chance.randrange(500)] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{number}.db"
        path.write_bytes(flipped)
        with suppress(StoreCorrupt), opened(path) as memory:
            page = memory.pages.list()[0].id
            told += [refusal(door, memory, page) for door in DOORS.values()]
        path.unlink()
        if not long and number + 1 >= SCHEMA_FLIPS and StoreCorrupt in map(type, told):
            break
    assert {type(error) for error in told} == {type(None), StoreCorrupt}


@LONG
def test_flipped_bits_anywhere_raise_our_errors_and_quote_nothing(whole, tmp_path, caplog, long):
    chance, data = random.Random(19), whole.read_bytes()
    seen = []
    for number in range(LONG_FLIPS if long else FLIPS):
        flipped = bytearray(data)
        for _ in range(chance.choice([1, 1, 8])):
            flipped[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path = tmp_path / f"{number}.db"
        path.write_bytes(flipped)
        seen += used(path)
        path.unlink()
    assert seen
    assert not [message for message in seen if SECRET in message]
    assert SECRET not in caplog.text


def used(path: Path) -> list[str]:
    """What is said when a damaged store is used and verified; every error is one of ours."""
    said = []
    for use in (search_and_read, stores.verify):
        try:
            done = use(path)
        except MemoryOSError as error:
            said += [str(error), str(error.__cause__), str(error.__context__)]
        else:
            said += [damage.detail for damage in getattr(done, "damages", ())]
    return said


def search_and_read(path: Path) -> None:
    with opened(path) as memory:
        memory.search(SECRET)
        memory.context(f"{SECRET} kitchen")
        memory.pages.list()
        memory.log.events()
        memory.stats()


def test_an_index_beside_the_store_with_a_hostile_header_is_made_anew(store):
    with opened(store) as memory:
        files = memory._engine.vault.index_files
        owner = store_of(memory).admin.scopes()[0].owner
        file = files._file(owner)
        file.parent.mkdir(exist_ok=True)
        for header in HOSTILE:
            file.write_bytes(sealed(header))
            assert files.read(owner, lambda about: bool(about["format"])) is None
        file.write_bytes(sealed(HOSTILE[0]))
    with opened(store) as memory:
        assert memory.search(SECRET).hits


HOSTILE = [
    b"[" * 100_000 + b"]" * 100_000,
    b'{"about":' * 50_000 + b"1" + b"}" * 50_000,
    b"[]",
    b"null",
    b'{"about": 7, "arrays": []}',
    b'{"about": {"format": 1}, "arrays": {"a": 1}}',
    b'{"about": {"format": 1}, "arrays": [["a", "<f4", [1e308]]]}',
    b'{"about": {"format": 1}, "arrays": [["a", "<f4", [99999999999999999999999]]]}',
    b'{"about": {"format": 1}, "arrays": [["a", {"x": 1}, "y"]]}',
    b'{"about": {"format": 1}, "arrays": [[1, "<f4", [-1]], ["b", "O", [1]]]}',
]


def sealed(header: bytes) -> bytes:
    """A kept index with that header and a checksum that is right."""
    body = b"memoryos index 1\n" + len(header).to_bytes(8, "little") + header
    return body + zlib.crc32(body).to_bytes(8, "little")


def by_hand(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def ask(path: Path, question: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(question).fetchone()[0]


def test_on_postgres_too_a_damaged_page_is_left_out_and_an_older_program_makes_none(tmp_path):
    place = server.store_of(tmp_path).render_as_string(hide_password=False)
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        page, other = memory.add(SAID[0]), memory.add(SAID[1])
        memory.wait()
        with psycopg.connect(place.replace("postgresql+psycopg", "postgresql")) as connection:
            connection.execute("SELECT set_config('memoryos.every_tenant', 'on', false)")
            connection.execute("UPDATE cubes SET checksum = checksum + 1 WHERE id = %s", (page,))
            connection.execute("UPDATE cubes SET document = document || ' ' WHERE id = %s", (other,))
            left = connection.execute("SELECT checksum FROM cubes WHERE id = %s", (other,)).fetchone()
        assert left == (None,)
        assert [hit.id for hit in memory.search(SECRET).hits] == [other]
        with pytest.raises(CubeDamaged, match=page):
            memory.get(page)
    assert [(one.fault, one.id) for one in stores.verify(place).damages] == [(Fault.DOCUMENT, page)]


def test_merged_memories_are_no_damage_and_a_repair_leaves_them(tmp_path):
    with opened(tmp_path / "merged.db") as memory:
        pages = [memory.add("I like green tea.") for _ in range(2)]
        memory.duplicates.merge(pages)
        memory.wait()
    assert stores.verify(tmp_path / "merged.db", repair=True, settings=SETTINGS).is_sound
    with opened(tmp_path / "merged.db") as memory:
        assert [page.id for page in memory.duplicates.merged(pages[0])] == [pages[1]]
        assert memory.duplicates.unmerge(pages[1]).id == pages[1]


def test_each_kind_of_link_is_known_to_the_check():
    assert set(strays._ENDS) == set(LinkKind)


BRANCH_WORD, SNAPSHOT_WORD = "sandalwood", "periwinkle"

NOTE_DOORS = {
    "delete": lambda memory, page: memory.delete(page),
    "stats": lambda memory, page: memory.stats(),
    "branches.list": lambda memory, page: memory.branches.list(),
    "branches.create": lambda memory, page: memory.branches.create("another"),
    "snapshots.list": lambda memory, page: memory.snapshots.list(),
    "search": lambda memory, page: memory.search(SECRET),
    "archiving.list": lambda memory, page: memory.archiving.list(),
    "schedule.log": lambda memory, page: memory.schedule.log(),
    "schedule.moves": lambda memory, page: memory.schedule.moves(),
    "governance.retention": lambda memory, page: memory.governance.retention(),
    "governance.holds": lambda memory, page: memory.governance.holds(),
    "add": lambda memory, page: memory.add("New words.", idempotency_key="once"),
    "consolidate": lambda memory, page: memory.consolidate(),
    "forget": lambda memory, page: memory.forget(),
}


@pytest.fixture(scope="module")
def noted(tmp_path_factory) -> Path:
    """A store with notes of many kinds, which nobody has open."""
    path = tmp_path_factory.mktemp("noted") / "memory.db"
    with opened(path) as memory:
        for text in SAID[:4]:
            memory.add(text)
        memory.add("I live in Lisbon.", idempotency_key="once")
        memory.wait()
        memory.consolidate()
        memory.branches.create(BRANCH_WORD)
        memory.snapshots.create(SNAPSHOT_WORD)
        memory.archiving.add("rare", unused=30)
        memory.schedule.decide("Where?")
        memory.governance.retain("short", ttl=timedelta(days=400))  # in seconds, it ended before a long run did
        memory.governance.retain("long", half_life=400)
        memory.wait()
    return path


def copy_of(store: Path, path: Path) -> Path:
    path.write_bytes(store.read_bytes())
    return path


def test_a_flipped_bit_in_the_list_of_branches_is_named_and_never_quoted(noted, tmp_path, caplog):
    data = bytearray(noted.read_bytes())
    data[data.index(b'[{"id": "')] ^= 1
    path = tmp_path / "memory.db"
    path.write_bytes(data)
    (damage,) = stores.verify(path).damages
    assert (damage.fault, damage.detail, damage.owner.user) == (Fault.NOTE, "the note 'branches'", "ann")
    assert not damage.can_be_repaired
    with opened(path) as memory:
        page = memory.pages.list()[0].id
        for door in ("branches.list", "branches.create"):
            with pytest.raises(StoreCorrupt, match="note 'branches' of the table notes is damaged: run") as raised:
                NOTE_DOORS[door](memory, page)
            assert BRANCH_WORD not in str(raised.value) + str(raised.value.__cause__) + str(raised.value.__context__)
        assert memory.snapshots.list()
        assert memory.search(SECRET).hits
        assert store_of(memory).admin.forget("ann").is_complete, "a whole user goes with all branches, listed or not"
    assert BRANCH_WORD not in caplog.text
    assert ask(path, "SELECT count(*) FROM cubes") == ask(path, "SELECT count(*) FROM notes") == 0


WALK = Scope(user="ann", session="walk")

ENDS = {  # of a page
    "delete": lambda memory, page: memory.delete(page),
    "erase": lambda memory, page: memory.governance.erase(page),
    "expire": lambda memory, page: memory.governance.expire(page),
    "forget": lambda memory, page: memory.forget(),
    "forget a session": lambda memory, page: memory.of(WALK).forget(),
}


@pytest.fixture
def unlisted(tmp_path) -> tuple[Path, str]:
    """A memory with a branch of which only the list is damaged, and its page of a session."""
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        page = memory.of(WALK).add(SAID[0])
        memory.add("The bees are back.")
        memory.wait()
        memory.branches.create(BRANCH_WORD)
    by_hand(path, "UPDATE notes SET value = 'Z' || value WHERE key = 'branches'")
    return path, page


@pytest.mark.parametrize("end", ENDS)
def test_what_ends_leaves_the_branches_too_where_the_list_of_them_is_damaged(unlisted, end):
    path, page = unlisted
    with opened(path) as memory:
        ENDS[end](memory, page)
        memory.wait()
    left = ask(path, f"SELECT count(*) FROM cubes WHERE document LIKE '%{SAID[0]}%'")
    assert left == 0, "neither the page nor its copy"
    others = ask(path, "SELECT count(*) FROM cubes WHERE document LIKE '%bees%' AND kind = 'page'")
    assert others == (0 if end == "forget" else 2)


def test_the_job_that_discards_branches_dies_with_the_reason_where_the_list_of_them_is_damaged(unlisted):
    path, _ = unlisted
    now = [datetime.now(UTC) + timedelta(days=30)]
    with opened(path, clock=lambda: now[0]) as memory:
        for _ in range(MOST_TRIES + 2):
            memory.jobs.run()
            now[0] += timedelta(hours=1)
        (job,) = memory.jobs.list("dead")
        assert (job.kind, job.attempts) == ("branch", MOST_TRIES)
        assert job.error.startswith(
            "StoreCorrupt: the note 'branches' of the table notes is damaged: run `memoryos verify`"
        )
        by_hand(path, "UPDATE notes SET value = substr(value, 2) WHERE key = 'branches'")  # as a backup has it
        assert memory.jobs.retry() == 1
        memory.jobs.run()
        assert memory.branches.list() == []


def test_the_branches_of_other_owners_stay_where_the_list_of_one_is_damaged(tmp_path):
    path = tmp_path / "memory.db"
    with opened(path) as memory:
        one, two = (memory.of(Scope(user="ann", agent=agent)) for agent in ("one", "two"))
        for agent in (one, two):
            agent.add(SAID[0])
            agent.branches.create(BRANCH_WORD)
        by_hand(path, "UPDATE notes SET value = 'Z' WHERE key = 'branches' AND agent_id = 'one'")
        one.forget()
        assert two.branch(BRANCH_WORD).pages.count() == 1
    assert ask(path, "SELECT count(*) FROM cubes WHERE agent_id = 'one'") == 0


OTHER_VALUES = ["{}", "null", "[9]", '{"kept": "x"}', '{"name": "n", "ttl_seconds": NaN}', ""]


@pytest.mark.parametrize(
    "value",
    [
        "9",
        "[]",
        "x",
        "[{}]",
        "[" * 5_000,
        *(pytest.param(value, marks=pytest.mark.long) for value in OTHER_VALUES),
    ],
)
def test_an_impossible_note_is_told_as_damage_at_every_door(noted, tmp_path, value):
    path = copy_of(noted, tmp_path / "memory.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE notes SET value = ?", (value,))
    assert Fault.NOTE in {damage.fault for damage in stores.verify(path).damages}
    with opened(path) as memory:
        page = memory.pages.list()[0].id
        told = {type(refusal(door, memory, page)) for door in NOTE_DOORS.values()}
    assert StoreCorrupt in told <= {type(None), StoreCorrupt, KeyReused}  # `add`: its key was used for no pages


def test_snapshots_without_a_time_zone_are_damage(noted, tmp_path):
    path = copy_of(noted, tmp_path / "memory.db")
    by_hand(path, "UPDATE notes SET value = replace(value, '+00:00', '') WHERE key = 'snapshots'")
    assert [damage.detail for damage in stores.verify(path).damages] == ["the note 'snapshots'"]
    with opened(path) as memory:
        with pytest.raises(StoreCorrupt, match="'snapshots'"):
            memory.snapshots.list()
        memory.delete(memory.pages.list()[0].id)  # which needs no list of snapshots


@pytest.mark.parametrize("note", KNOWN_NOTES, ids=lambda note: note.key)
def test_verify_lists_each_kind_of_note(noted, tmp_path, note):
    path, key = copy_of(noted, tmp_path / "memory.db"), note.key + "7" * note.has_many
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM notes WHERE key = ?", (key,))
        connection.execute("INSERT INTO notes VALUES ('default', 'ann', 'default', 'private', ?, '{\"x')", (key,))
    assert [damage.detail for damage in stores.verify(path).damages] == [f"the note {key!r}"]


def test_each_note_that_is_read_is_known_to_the_check(noted):
    found = set()
    for package in (infrastructure, operation):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if ".migrations." not in module.name:
                values = vars(importlib.import_module(module.name)).values()
                found |= {value for value in values if isinstance(value, Note)}
    assert found == set(KNOWN_NOTES)
    assert stores.verify(noted).is_sound


def test_a_rule_of_an_older_program_is_still_read(noted, tmp_path):
    path = copy_of(noted, tmp_path / "memory.db")
    by_hand(
        path, "UPDATE notes SET value = replace(value, ', \"half_life_seconds\": null', '') WHERE key = 'retain:short'"
    )
    assert stores.verify(path).is_sound
    with opened(path) as memory:
        assert [rule.name for rule in memory.governance.retention()] == ["long", "short"]


def test_a_rebuild_that_counts_more_lists_than_it_has_ends(noted, tmp_path):
    path = copy_of(noted, tmp_path / "memory.db")
    stage = '{"phase": "learn", "total": 1, "done": 0, "lists": 1, "listed": 5}'
    by_hand(path, f"INSERT INTO notes VALUES ('default', 'ann', 'default', 'private', 'rebuild', '{stage}')")
    with opened(path) as memory:
        memory.add("New words.")
        memory.consolidate(timeout=60)
    assert ask(path, "SELECT count(*) FROM notes WHERE key = 'rebuild'") == 0


def test_a_deletion_from_a_segment_without_sound_passages_is_refused_until_they_are_made_again(store):
    by_hand(store, "UPDATE passages SET marks = ''")
    with opened(store) as memory:
        page = memory.pages.list()[0].id
        with pytest.raises(StoreCorrupt, match=r"segment .* has a sound vector: run `memoryos verify --repair`"):
            memory.delete(page)
    assert stores.verify(store, repair=True, settings=SETTINGS).is_sound
    with opened(store) as memory:
        memory.delete(page)
        assert page not in {one.id for one in memory.pages.list()}


def test_on_postgres_too_a_damaged_note_is_named(tmp_path):
    place = server.store_of(tmp_path).render_as_string(hide_password=False)
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        page = memory.add(SAID[0])
        memory.wait()
        memory.branches.create(BRANCH_WORD)
        with psycopg.connect(place.replace("postgresql+psycopg", "postgresql")) as connection:
            connection.execute("SELECT set_config('memoryos.every_tenant', 'on', false)")
            connection.execute("UPDATE notes SET value = 'Z' || substr(value, 2) WHERE key = 'branches'")
        with pytest.raises(StoreCorrupt, match="note 'branches'"):
            memory.branches.list()
        memory.delete(page)
        assert not memory.pages.list()
    assert [(one.fault, one.detail) for one in stores.verify(place).damages] == [(Fault.NOTE, "the note 'branches'")]
    with memoryos.open(place, user="ann", settings=SETTINGS) as memory:
        assert store_of(memory).admin.forget("ann").is_complete


ERASURES = {
    "delete": lambda memory, page: memory.delete(page),
    "erase": lambda memory, page: memory.governance.erase(page),
    "forget": lambda memory, _: memory.forget(),
}


@pytest.mark.parametrize("erase", ERASURES)
@pytest.mark.parametrize("detail", ['{"reason": "brok', "{brok}", '["reason"]', "7"])
def test_what_tells_of_a_version_may_be_damaged_and_is_erased(store, erase, detail):
    with opened(store) as memory:
        name = max(memory.segments.list(), key=lambda view: len(view.page_ids)).cube.id
        page = next(view.page_ids[0] for view in memory.segments.list() if view.cube.id == name)
        memory.update(name, f"Of the {SECRET}.", reason=f"because of the {SECRET}")
    with closing(sqlite3.connect(store)) as file, file:
        told = "operation = 'revise' AND cube_id = ?"
        assert file.execute(f"UPDATE events SET detail = ? WHERE {told}", (detail, name)).rowcount
    with opened(store) as memory:
        ERASURES[erase](memory, page)
    with closing(sqlite3.connect(store)) as file:
        assert not file.execute("SELECT 1 FROM events WHERE detail = ?", (detail,)).fetchall()
