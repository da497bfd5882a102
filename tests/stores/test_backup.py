"""Backups: a store in one file, as it was at one moment, which tells whether it is still that."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from sqlalchemy import MetaData, NullPool, Table, create_engine

from memoryos import stores
from memoryos.errors import InvalidInput, MemoryOSError, StorageError, StoreCorrupt
from memoryos.infrastructure.vault import migrations, rows
from memoryos.infrastructure.vault.damage import Fault
from migration.before_checksums import OLD_STATES
from stores.conftest import BOB, change_by_hand, content, opened

BACK_ENDS = ("sqlite", "postgres")


class Stopped(Exception):
    """The process ends here."""


@pytest.fixture(scope="module")
def made(filled, tmp_path_factory) -> Path:
    """A backup, made once: to be copied."""
    file = tmp_path_factory.mktemp("made") / "backup.db"
    stores.backup(filled("sqlite"), file)
    return file


@pytest.fixture
def backup(made, tmp_path) -> Path:
    """The backup of a store."""
    return shutil.copy(made, tmp_path / "backup.db")


def without_manifest(found):
    return {**found, "meta": [row for row in found["meta"] if row[0] != "backup"]}


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_backup_is_the_store_and_restored_it_is_the_store_again(full, new_place, tmp_path, back_end):
    place, file = full(back_end), tmp_path / "backup.db"
    manifest = stores.backup(place, file)
    assert without_manifest(content(str(file))) == content(place)
    assert {name: table.rows for name, table in manifest.tables.items()} == {
        name: len(found) for name, found in content(place).items() if name != "meta"
    }
    assert stores.verify(file).is_sound
    for target in BACK_ENDS:
        again = new_place(target)
        assert stores.restore(file, again).rows == manifest.rows
        assert content(again) == content(place)


def test_a_restored_store_goes_on(backup, new_place):
    place = new_place("postgres")
    stores.restore(backup, place)
    with opened(place) as memory:
        page = memory.add("I have a parrot called Kiwi.")
        assert memory.search("parrot Kiwi").hits[0].id == page
        assert memory.of(BOB).pages.list()[0].text
    assert stores.verify(place).is_sound


def test_only_its_owner_may_read_a_backup_and_it_is_one_file(backup, tmp_path):
    assert oct(backup.stat().st_mode & 0o777) == "0o600"
    before = backup.read_bytes()
    stores.verify(backup)
    stores.restore(backup, tmp_path / "restored.db")
    assert backup.read_bytes() == before, "reading it leaves it as it is"
    assert sorted(path.name for path in tmp_path.glob("backup*")) == ["backup.db"]


def test_it_can_be_verified_where_nothing_may_be_written(backup, tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    backup.rename(folder / "backup.db")
    (folder / "backup.db").chmod(0o400)
    folder.chmod(0o500)
    try:
        assert stores.verify(folder / "backup.db").is_sound
    finally:
        folder.chmod(0o700)


def test_a_backup_tells_when_and_of_what_without_a_password(full, tmp_path):
    place = full("postgres").replace("memoryos:@", "memoryos:hunter2@")
    manifest = stores.backup(place, tmp_path / "backup.db")
    assert "hunter2" not in (tmp_path / "backup.db").read_bytes().decode("latin-1")
    assert manifest.store.startswith("postgresql://memoryos@")
    assert (manifest.schema, manifest.embedder) == (migrations.HEAD, "hashing-384-v1")
    assert manifest.made_at.endswith("+00:00")


def test_an_existing_file_is_not_overwritten(store, backup):
    before = backup.read_bytes()
    with pytest.raises(InvalidInput, match="exists already"):
        stores.backup(store, backup)
    assert backup.read_bytes() == before


def test_a_backup_that_fails_leaves_nothing(store, tmp_path):
    def progress(_done: int, _total: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        stores.backup(store, tmp_path / "backup.db", progress=progress)
    assert list(tmp_path.glob("*backup*")) == []


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_while_others_write_a_backup_is_one_moment(full, tmp_path, back_end, small_steps):
    place, added, stop = full(back_end), [], Event()

    def write() -> None:
        with opened(place) as memory:
            while not stop.is_set():
                added.append(memory.add(f"written meanwhile {len(added)}", "and answered"))

    writer = Thread(target=write)
    writer.start()
    try:
        while len(added) < 3:
            assert writer.is_alive()
        seen = len(added)
        stores.backup(place, tmp_path / "backup.db", progress=lambda _done, _total: stop.wait(0.001))
        later = len(added)
    finally:
        stop.set()
        writer.join()
    assert later > seen, "the writer went on"
    stores.restore(tmp_path / "backup.db", tmp_path / "restored.db")
    assert stores.verify(tmp_path / "restored.db").is_sound, "no page without its passages, no half transaction"
    with opened(str(tmp_path / "restored.db")) as memory:
        found = [page.id for page in memory.pages.list() if "written meanwhile" in page.text]
    assert found == added[: len(found)]
    assert len(found) >= seen


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE cubes SET document = replace(document, 'Saturn', 'Sbturn')",
        "UPDATE passages SET vector = zeroblob(length(vector)) WHERE rowid IN (SELECT min(rowid) FROM passages)",
        "UPDATE passages SET words = words || ' x' WHERE rowid IN (SELECT min(rowid) FROM passages)",
        "DELETE FROM events WHERE sequence = 3",
        "INSERT INTO notes VALUES ('t', 'u', 'a', 'private', 'k', 'v')",
        "UPDATE usage SET cost = cost + 1",
        "UPDATE meta SET value = 'static' WHERE key = 'embedder'",
        "UPDATE links SET target = source WHERE rowid IN (SELECT min(rowid) FROM links WHERE source <> target)",
        "DROP TABLE notes",
        "UPDATE alembic_version SET version_num = '0005'",
        "UPDATE meta SET value = replace(value, 'sha256', 'sha257') WHERE key = 'backup'",
        "UPDATE meta SET value = '[]' WHERE key = 'backup'",
    ],
)
def test_a_backup_that_was_changed_is_not_restored(backup, tmp_path, statement):
    change_by_hand(str(backup), statement)
    with pytest.raises(StoreCorrupt):
        stores.restore(backup, tmp_path / "restored.db")
    assert not (tmp_path / "restored.db").exists()


def test_verify_names_the_table_that_was_changed(backup):
    change_by_hand(str(backup), "UPDATE usage SET cost = cost + 1")
    (damage,) = stores.verify(backup).damages
    assert (damage.fault, damage.detail, damage.can_be_repaired) == (
        Fault.BACKUP,
        "usage is not what was backed up",
        False,
    )


def test_any_byte_of_a_row_that_is_flipped_is_found(backup, tmp_path):
    whole = backup.read_bytes()
    places = [whole.index(word.encode()) for word in ("Saturn", "喝绿茶", "nurse", "noodl")]
    with closing(sqlite3.connect(backup)) as connection:
        (vector,) = connection.execute("SELECT vector FROM passages WHERE length(words) > 20").fetchone()
    places.append(whole.index(vector) + 5)
    for number, place in enumerate(places):
        torn = tmp_path / f"torn-{number}.db"
        torn.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(MemoryOSError):
            stores.restore(torn, tmp_path / "restored.db")
        with suppress(StoreCorrupt):
            assert not stores.verify(torn).is_sound


@pytest.mark.parametrize("share", [0.001, 0.3, 0.9, 0.999])
def test_a_truncated_backup_is_found(backup, tmp_path, share):
    os.truncate(backup, int(backup.stat().st_size * share))
    with pytest.raises(MemoryOSError):
        stores.restore(backup, tmp_path / "restored.db")
    assert not (tmp_path / "restored.db").exists()
    with suppress(StorageError):
        assert not stores.verify(backup).is_sound


def test_what_is_no_backup_is_not_restored(store, tmp_path):
    (tmp_path / "notes.txt").write_text("no database at all, but as long as a page of one " * 100)
    for file, said in ((store, "is not a backup"), (tmp_path / "absent.db", "does not exist")):
        with pytest.raises(InvalidInput, match=said):
            stores.restore(file, tmp_path / "restored.db")
    with pytest.raises(StoreCorrupt):
        stores.restore(tmp_path / "notes.txt", tmp_path / "restored.db")
    with pytest.raises(InvalidInput, match="a backup is a file"):
        stores.restore("postgresql://host/database", tmp_path / "restored.db")
    assert not (tmp_path / "restored.db").exists()


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_a_restore_over_memory_is_refused(full, backup, back_end):
    place = full(back_end)
    with opened(place) as memory:
        memory.add("This is in no backup.")
    before = content(place)
    with pytest.raises(InvalidInput, match="holds memory already"):
        stores.restore(backup, place)
    assert content(place) == before


@pytest.mark.parametrize("target", BACK_ENDS)
def test_a_restore_that_was_cut_off_goes_on(store, backup, new_place, small_steps, target):
    place = new_place(target)

    def progress(done: int, total: int) -> None:
        if done > 0.6 * total:  # in the middle of a table
            raise Stopped

    with pytest.raises(Stopped):
        stores.restore(backup, place, progress=progress)
    with pytest.raises(StorageError, match=f"not complete.*memoryos restore {backup}"):
        opened(place)
    stores.restore(backup, place)
    assert content(place) == content(store)


def test_a_store_made_of_a_backup_is_none_itself(backup, tmp_path):
    stores.restore(backup, tmp_path / "restored.db")
    with pytest.raises(InvalidInput, match="is not a backup"):
        stores.restore(tmp_path / "restored.db", tmp_path / "again.db")
    stores.backup(tmp_path / "restored.db", tmp_path / "second.db")
    first, second = (
        json.loads(dict(content(str(file))["meta"])["backup"]) for file in (backup, tmp_path / "second.db")
    )
    assert first["tables"] == second["tables"]


ADDED_BY_0007 = ("turn", "start", "end")
ADDED_BY_0016 = ("packed", "base")
CHECKED = ("cubes", "versions", "vectors", "passages")  # that have a checksum since 0008


def summed(file: Path, name: str) -> rows.Sum:
    """The sum of a table of a file as it is there."""
    engine = create_engine(f"sqlite:///{file}", poolclass=NullPool)
    with engine.connect() as connection:
        return rows.summed(connection, Table(name, MetaData(), autoload_with=connection, resolve_fks=False))


def test_a_backup_of_an_older_schema_is_restored_and_its_file_left_as_it_is(backup, tmp_path, store):
    """What schemas 0006 to 0021 added is taken away, as if an older program had made the backup."""
    change_by_hand(
        str(backup),
        *(f"ALTER TABLE versions DROP COLUMN {name}" for name in ADDED_BY_0016),
        "ALTER TABLE usage DROP COLUMN cached_tokens",
        "DROP INDEX cubes_by_end",
        "DROP INDEX cubes_expired",
        "DROP TABLE next_vectors",
        "DROP TABLE audit",
        "DROP TABLE audit_heads",
        "DROP TABLE keys",
        "DROP TABLE delegations",
        "DROP TABLE role_grants",
        "DROP TABLE attached",
        "DROP TABLE blobs",
        "ALTER TABLE jobs DROP COLUMN payload",
        OLD_STATES,
        "ALTER TABLE cubes DROP COLUMN mark",
        *(f'ALTER TABLE passages DROP COLUMN "{name}"' for name in ADDED_BY_0007),
        *(f"DROP TRIGGER {name}_checksum" for name in CHECKED if name != "versions"),
        *(f"ALTER TABLE {name} DROP COLUMN checksum" for name in CHECKED),
        "UPDATE alembic_version SET version_num = '0005'",
    )
    sums = ", ".join(
        f"'$.tables.{name}.sha256', '{summed(backup, name).sha256}'" for name in (*CHECKED, "jobs", "usage")
    )
    change_by_hand(
        str(backup),
        "UPDATE meta SET value = json_set(json_remove(value, '$.tables.next_vectors', '$.tables.attached', "
        f"'$.tables.audit', '$.tables.audit_heads', '$.tables.keys', '$.tables.delegations', "
        "'$.tables.role_grants'), "
        f"'$.schema', '0005', {sums}) WHERE key = 'backup'",
    )
    before = backup.read_bytes()
    stores.restore(backup, tmp_path / "restored.db")
    assert backup.read_bytes() == before
    added = ("next_vectors", "audit", "audit_heads", "keys", "delegations", "role_grants")
    expected = {**content(store), **{name: [] for name in added}}
    for name in CHECKED:
        lost = 1 + len({"passages": ADDED_BY_0007, "versions": ADDED_BY_0016}.get(name, ()))
        expected[name] = [(*row[:-lost], *[None] * lost) for row in expected[name]]
    expected["cubes"] = [tuple(None if one == "withdrawn" else one for one in row) for row in expected["cubes"]]
    assert content(str(tmp_path / "restored.db")) == expected
