"""Backups: a snapshot of a store in one SQLite file, which can check that it is unchanged.

The file is a complete store; the bytes of attachments lie in a folder beside it. Beside the memory it holds a manifest:
when it was made and of what, and the number of rows and a checksum of every table. It gets its name when it is complete
and on the disk.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

from sqlalchemy import Connection, MetaData, Table, inspect
from sqlalchemy.exc import DBAPIError, NoSuchTableError
from uuid_utils.compat import uuid7

from memoryos.clock import Clock
from memoryos.errors import InvalidInput, StoreCorrupt
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.objects.blobs import Blobs, folder_beside
from memoryos.infrastructure.objects.object_store import settle
from memoryos.infrastructure.vault import copying, migrations, rows
from memoryos.infrastructure.vault.blob_copying import copy_blobs
from memoryos.infrastructure.vault.forgotten_list import ForgottenList
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.place import open_vault
from memoryos.infrastructure.vault.reembedding import EMBEDDER
from memoryos.infrastructure.vault.rows import Sum
from memoryos.infrastructure.vault.sql_vault import SqlVault, noted
from memoryos.infrastructure.vault.sqlite import put_in_one_file, read_only_engine
from memoryos.infrastructure.vault.sqlite.cipher import driver
from memoryos.infrastructure.vault.sqlite.unlocking import unlocked
from memoryos.plain import Plain
from memoryos.progress import Progress

_OWN = (
    "cubes",
    "notes",
    "attached",
)  # the tables in which a backup of a store with packs, which it holds itself, differs

_PATIENCE = 30.0  # seconds; nobody else uses the file


@dataclass(frozen=True, slots=True)
class Manifest(Plain):
    """The data of a backup about itself."""

    made_at: str  #: ISO 8601, UTC
    store: str  #: of which; without a password
    schema: str
    embedder: str | None
    tables: dict[str, Sum]

    @property
    def rows(self) -> int:
        """The total number of rows."""
        return sum(table.rows for table in self.tables.values())

    @property
    def is_current(self) -> bool:
        """Whether it has the schema of this program."""
        return self.schema == migrations.HEAD


def backup(
    vault: SqlVault,
    file: Path,
    *,
    clock: Clock,
    progress: Progress | None = None,
    key: EncryptionKey | None = None,
) -> Manifest:
    """Write the store, as it is at this moment, into a new file that only its owner may read; writers go on.

    The bytes of attachments go into a folder beside it, named like the file with `.objects` behind; with a key, all of
    it is encrypted, and its sealed keys lie beside it. Raises InvalidInput when the file exists already.
    """
    for place in (file, folder_beside(file), KeyFile(file).path):
        if os.path.lexists(place):
            raise InvalidInput("file", f"{place} exists already", "Name a new file, or remove that one")
    draft = file.with_name(f"{file.name}.{uuid7()}.partial")
    objects, keys = folder_beside(draft), KeyFile(draft).path
    ForgottenList(file).remove()  # of an earlier backup with this name, whose notes must not meet this one
    try:
        manifest = _written(vault, draft, clock, progress, key)
        put_in_one_file(draft, unlocked(draft, key))
        if objects.exists():
            objects.rename(folder_beside(file))
        if keys.exists():
            keys.rename(KeyFile(file).path)
        draft.rename(file)
        settle(file.parent)
    finally:
        shutil.rmtree(objects, ignore_errors=True)
        for suffix in ("", "-wal", "-shm"):
            Path(f"{draft}{suffix}").unlink(missing_ok=True)
        keys.unlink(missing_ok=True)
    return manifest


def manifest_of(connection: Connection) -> Manifest | None:
    """The manifest of a store; None if it is no backup. Raises StoreCorrupt."""
    if not inspect(connection).has_table("meta"):
        return None
    text = noted(connection, copying.MANIFEST)
    if text is None:
        return None
    try:
        values = json.loads(text)
        return Manifest(**{**values, "tables": {name: Sum(**one) for name, one in values["tables"].items()}})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreCorrupt("the backup's manifest cannot be read") from error


def differing(connection: Connection, manifest: Manifest) -> list[str]:
    """The tables that differ from the backup."""
    found = [name for name, sum_ in manifest.tables.items() if _summed(connection, name) != sum_]
    about = {"embedder": noted(connection, EMBEDDER), "schema": migrations.revision(connection)}
    return [*found, *(name for name, value in about.items() if value != getattr(manifest, name))]


def checked(file: Path, key: EncryptionKey | None = None) -> Manifest:
    """The manifest of an unchanged backup. Raises InvalidInput for a file that is no backup, WrongKey, StoreCorrupt."""
    with _read(file, key) as connection:
        manifest = manifest_of(connection)
        if manifest is None:
            raise InvalidInput("file", f"{file} is not a backup", "Name the file that `memoryos backup` made")
        if found := differing(connection, manifest):
            raise StoreCorrupt(f"{file} is damaged or was changed: {', '.join(found)}. Use another backup")
        return manifest


def manifest_in(file: Path, key: EncryptionKey | None = None) -> Manifest | None:
    """The manifest of a file; None if it is no backup. Raises InvalidInput, StoreCorrupt."""
    with _read(file, key) as connection:
        return manifest_of(connection)


def close_file(file: Path, key: EncryptionKey | None = None) -> None:
    """Make a backup that was written one file again, unless another process has it open."""
    known = unlocked(file, key)
    with suppress(driver(known).OperationalError):
        put_in_one_file(file, known)


@contextmanager
def opened(file: Path, manifest: Manifest, *, clock: Clock, key: EncryptionKey | None = None) -> Iterator[SqlVault]:
    """A backup as a store with the current schema. The file is not changed: an older one is upgraded in a copy."""
    use = _Opening(embedder=None, clock=clock, busy_timeout_seconds=_PATIENCE, key=key)
    if manifest.is_current:
        with closing(open_vault(file, is_only_read=True, **use)) as vault:
            yield vault
        return
    with TemporaryDirectory(prefix="memoryos-restore-") as folder:
        path = Path(folder) / file.name
        shutil.copyfile(file, path)
        if KeyFile(file).exists():
            shutil.copyfile(KeyFile(file).path, KeyFile(path).path)
        with closing(open_vault(path, **use)) as vault:
            vault.blobs = Blobs(beside=file, key=unlocked(file, key, is_only_read=True))
            yield vault


class _Opening(TypedDict):
    """How a backup is opened."""

    embedder: None
    clock: Clock
    busy_timeout_seconds: float
    key: EncryptionKey | None


def _written(
    vault: SqlVault, draft: Path, clock: Clock, progress: Progress | None, key: EncryptionKey | None
) -> Manifest:
    target = copying.begin(draft, "memoryos backup", clock=clock, busy_timeout_seconds=_PATIENCE, key=key)
    with closing(target), vault.snapshot() as ours:
        made_at = clock().isoformat()
        copying.copy_snapshot(ours, target, progress)
        copying.bring_back(target, vault.packs)
        copy_blobs(vault, target.vault, target.change)
        about = copying.about(ours)
        with target.vault.snapshot() as theirs:
            sums = {table.name: rows.summed(theirs if table.name in _OWN else ours, table) for table in rows.CONTENT}
        manifest = Manifest(made_at, vault.name, migrations.HEAD, about.get(EMBEDDER), sums)
        target.finish({**about, copying.MANIFEST: json.dumps(asdict(manifest))})
    return manifest


@contextmanager
def _read(file: Path, key: EncryptionKey | None) -> Iterator[Connection]:
    """A snapshot of any SQLite file, which is not changed."""
    if not file.is_file():
        raise InvalidInput("file", f"{file} does not exist", "Name the file that `memoryos backup` made")
    engine = read_only_engine(file, key=unlocked(file, key, is_only_read=True))
    try:
        with engine.connect() as connection, connection.begin():
            yield connection
    except DBAPIError as error:
        sealed = KeyFile(file)  # an encrypted backup without it looks like noise
        fix = "" if sealed.exists() else f", or, if it is encrypted, put {sealed.path.name} beside it"
        raise StoreCorrupt(f"{file}: {error.orig}. Use another backup{fix}") from error
    finally:
        engine.dispose()


def _summed(connection: Connection, name: str) -> Sum | None:
    """The number of rows and the checksum of a table, in any schema."""
    try:
        table = Table(name, MetaData(), autoload_with=connection, resolve_fks=False)
    except NoSuchTableError:
        return None
    return rows.summed(connection, table)
