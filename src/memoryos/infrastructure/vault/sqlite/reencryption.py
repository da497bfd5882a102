"""Reencryption: writes a store, and what lies beside it, under another data key, or in clear."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from uuid_utils.compat import uuid7

from memoryos.errors import (
    InvalidInput,
    ObjectsUnreachable,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
)
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.encryption.sealed_keys import Form, KeyRing, SealedKeys
from memoryos.infrastructure.objects.blobs import blob_places
from memoryos.infrastructure.objects.object_store import LACKS, Objects
from memoryos.infrastructure.objects.sealed_objects import under
from memoryos.infrastructure.vault.index_files import folder_of_indexes
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.sqlite import swap
from memoryos.infrastructure.vault.sqlite.cipher import FORM, cipher_module, driver, pragma_key
from memoryos.infrastructure.vault.sqlite.fork_gate import InSession
from memoryos.infrastructure.vault.sqlite.inherited import is_open, refuse_inherited
from memoryos.infrastructure.vault.sqlite.room import UNWRITTEN, lack_beside
from memoryos.infrastructure.vault.sqlite.unlocking import refuse_clear
from memoryos.progress import Progress

_OBJECTS = (  # with whether the store relies on them: others are being put or removed
    "SELECT name, remove_at IS NULL FROM blobs"
    " UNION SELECT substr(key, 6), value = 'in use' FROM notes WHERE key >= 'pack:' AND key < 'pack;'"
)

_FULL, _DAMAGED = "database or disk is full", "database disk image is malformed"  # in SQLite's words

_NAME = 48  # characters of the name of a store in that of its draft, so that no file system finds it too long


@dataclass(frozen=True, slots=True)
class Reencryption:
    """The change of one store from one form to another; its objects are in the `object_store` or beside it."""

    path: Path
    key: EncryptionKey
    object_store: str | None
    progress: Progress | None = None
    busy_timeout_seconds: float = 0.0  #: how long it waits for changes of other stores in the folder

    def encrypt(self) -> None:
        """Encrypt a store in clear. Raises WrongKey if it is encrypted with another key; with this one, it is done."""
        with self._alone() as file:
            keys = self._settled(file) if file.exists() else SealedKeys.new(KeyRing(None), self.key)
            self._become(file, keys, DataKey.random()) if keys.ring.current is None else self._tidy(file, keys)

    def decrypt(self) -> None:
        """Write the store in clear. Raises WrongKey if the key does not fit."""
        with self._alone() as file:
            keys = self._settled(file)
            self._tidy(file, keys) if keys.ring.current is None else self._become(file, keys, None)

    def renew(self) -> None:
        """Encrypt the store with a new data key. Raises WrongKey if the key does not fit."""
        with self._alone() as file:
            self._become(file, self._settled(file), DataKey.random())

    @contextmanager
    def _alone(self) -> Iterator[KeyFile]:
        """The file of the keys, which nobody else changes meanwhile; only then it tells how the store is written."""
        cipher_module()
        file = KeyFile(self.path, self.busy_timeout_seconds)
        self._check_file(file)
        with InSession(), file.alone():
            self._check_file(file)
            yield file

    def _check_file(self, file: KeyFile) -> None:
        """Raise InvalidInput if there is no store that can be written anew, and StoreBusy if it is open here."""
        refuse_inherited(self.path)
        if self.path.is_symlink():
            raise InvalidInput("store", f"{self.path} is a link", "Name the file itself")
        if self.path.exists() and self.path.stat().st_nlink > 1:
            told = "has another name (a hard link), under which the file would stay as it is"
            raise InvalidInput("store", f"{self.path} {told}", "Remove the other name, or copy the file")
        if is_open(self.path):
            raise StoreBusy(f"{self.path} is open in this process: close it first")
        if not file.exists() and not (self.path.is_file() and self.path.stat().st_size):
            raise InvalidInput("store", f"{self.path} is not a store", "Name the file of a store")

    def _settled(self, file: KeyFile) -> SealedKeys:
        if not file.exists():
            refuse_clear(self.path)
        return swap.settled(file, self.key)

    def _become(self, file: KeyFile, keys: SealedKeys, wanted: Form) -> None:
        with self._held(keys.ring.current) as (connection, descriptor):
            needed = dict(connection.execute(_OBJECTS).fetchall())
            names = list(needed)
            draft = f"{self.path.name[:_NAME]}.{uuid7()}.partial"
            noted = tuple(dict.fromkeys((*keys.ring.objects, *names)))
            begun = keys.with_ring(replace(keys.ring, coming=wanted, draft=draft, objects=noted))
            file.replace(begun)
            try:
                _export(connection, self.path, self.path.with_name(draft), wanted)
                self._reseal(needed, keys.ring.current, wanted)
            except BaseException:
                swap.undone(file, begun, is_clean=self._is_removed(names, wanted))
                raise
            swap.spoil(descriptor)
            done = swap.put_in_place(file, begun, self.key)
            self._clean(file, done, names)

    @contextmanager
    def _held(self, form: Form) -> Iterator[tuple[Any, int]]:
        """A connection that nobody else has one beside, and a descriptor of the file."""
        module = driver(form) if form else cipher_module()
        descriptor = os.open(self.path, os.O_RDWR)  # closed last: closing one gives up the locks of a file
        try:
            with closing(module.connect(str(self.path), timeout=0, isolation_level=None)) as connection:
                connection.execute("PRAGMA cipher_log_level = NONE")
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("COMMIT")
                yield connection, descriptor
        except module.Error as error:
            raise _explained(self.path, error) from None
        except OSError as error:
            kind = StoreFull if error.errno in LACKS else StorageError
            raise kind(f"{self.path}: {error.strerror}. {kind.__doc__}") from error
        finally:
            os.close(descriptor)

    def _tidy(self, file: KeyFile, keys: SealedKeys) -> None:
        """Remove what an earlier change left."""
        if keys.ring.stale or keys.ring.current is None:
            with self._held(keys.ring.current) as (connection, _):
                self._clean(file, keys, [name for name, _ in connection.execute(_OBJECTS)])

    def _clean(self, file: KeyFile, keys: SealedKeys, names: Sequence[str]) -> None:
        every = list(dict.fromkeys((*names, *keys.ring.objects)))
        self._remove(every, [form for form in keys.ring.stale if form != keys.ring.current])
        shutil.rmtree(folder_of_indexes(self.path), ignore_errors=True)
        if keys.ring.current is None:
            file.remove()
        else:
            file.replace(keys.with_ring(KeyRing(keys.ring.current)))

    def _reseal(self, objects: Mapping[str, bool], before: Form, after: Form) -> None:
        places = self._places(list(objects))
        for number, (name, is_needed) in enumerate(objects.items(), 1):
            found = [(place, data) for place in places if (data := under(before, place).get(name)) is not None]
            if is_needed and not found:
                raise StoreCorrupt(f"the object {name} is missing: run `memoryos verify`; nothing was changed")
            for place, data in found:
                under(after, place).put(name, data)
            if self.progress:
                self.progress(number, len(objects))

    def _is_removed(self, names: Sequence[str], form: Form) -> bool:
        try:
            self._remove(names, [form])
        except StorageError:
            return False
        return True

    def _remove(self, names: Sequence[str], forms: Sequence[Form]) -> None:
        for place in self._places(names):
            for form in forms:
                for name in names:
                    under(form, place).remove(name)

    def _places(self, names: Sequence[str]) -> list[Objects]:
        if self.object_store is None and any(name.endswith(".jsonl.gz") for name in names):
            raise ObjectsUnreachable("the store has cold memories: set MEMORYOS_OBJECT_STORE to their object store")
        return blob_places(self.object_store, self.path)


def _export(connection: Any, path: Path, draft: Path, form: Form) -> None:
    """Write the whole database at `path` into a new file in that form, durably."""
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    connection.execute("ATTACH DATABASE ? AS draft KEY ?", (str(draft), pragma_key(form) if form else ""))
    if form:
        connection.execute(f"PRAGMA draft.cipher_compatibility = {FORM}")
    connection.execute("PRAGMA draft.journal_mode = DELETE")
    connection.execute("SELECT sqlcipher_export('draft')")
    connection.execute("DETACH DATABASE draft")
    shutil.copymode(path, draft)
    with draft.open("rb+") as file:
        os.fsync(file.fileno())


def _explained(path: Path, error: Any) -> StorageError:
    full_code = getattr(error, "sqlite_errorcode", 0)
    # What the export meets is an error of a function, without a code of its own.
    is_of_export = full_code == sqlite3.SQLITE_ERROR
    if is_of_export and str(error) == _FULL:
        return StoreFull(f"{path}: {error}. {StoreFull.__doc__}")
    if (is_of_export or full_code in UNWRITTEN) and (reason := lack_beside(path)):  # its draft has about its size
        return StoreFull(f"{path}: {error} ({reason}). {StoreFull.__doc__}")
    code = sqlite3.SQLITE_CORRUPT if is_of_export and str(error) == _DAMAGED else full_code & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreBusy(f"{path} is open elsewhere: close it in every process, then run this again")
    kind = {
        sqlite3.SQLITE_FULL: StoreFull,
        sqlite3.SQLITE_CORRUPT: StoreCorrupt,
        sqlite3.SQLITE_NOTADB: StoreCorrupt,
        sqlite3.SQLITE_READONLY: StoreReadOnly,
    }.get(code, StorageError)
    return kind(f"{path}: {error}. {kind.__doc__}")
