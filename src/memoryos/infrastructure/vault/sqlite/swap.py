"""Swap: puts the draft of a store, with other keys, in the place of the store.

Nobody else may have the store open. Who waits for it meanwhile has opened the old file, so that file is spoiled first:
a write to it would be lost. This is the moment from which the draft counts. A process that dies before it leaves the
old store and a draft, which the next one removes; one that dies after it leaves the work of renaming to the next one.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from memoryos.errors import StorageError, StoreBusy, StoreCorrupt
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.encryption.sealed_keys import Form, KeyRing, SealedKeys
from memoryos.infrastructure.objects.object_store import settle
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.sqlite.cipher import driver
from memoryos.infrastructure.vault.sqlite.still import log_of

SPOILT = b"memoryos: this file was replaced; open its path again\n".ljust(100, b"\0")  # over the header of SQLite


def spoil(descriptor: int) -> None:
    """Make the old file useless, durably."""
    os.pwrite(descriptor, SPOILT, 0)
    os.fsync(descriptor)


def put_in_place(file: KeyFile, keys: SealedKeys, key: EncryptionKey) -> SealedKeys:
    """Rename the draft to the store, if that was not done yet, and write its keys; they have a new master key."""
    ring = keys.ring
    draft = file.file.with_name(str(ring.draft))
    if draft.exists():
        draft.replace(file.file)
    elif not opens(file.file, ring.coming):
        raise StorageError(f"{draft}, the new form of {file.store}, is missing: put it back, or restore a backup")
    settle(file.file.parent)
    done = SealedKeys.new(KeyRing(ring.coming, (*ring.stale, ring.current), objects=ring.objects), key)
    file.replace(done)
    return done


def settled(file: KeyFile, key: EncryptionKey) -> SealedKeys:
    """Finish a change that was interrupted, or undo it; returns the keys of the store.

    Nobody else may change them meanwhile: see `KeyFile.alone`.
    """
    keys = file.open(key)
    ring = keys.ring
    if ring.draft is None:
        return keys
    try:
        if _is_spoilt(file.file) or opens(file.file, ring.coming):
            return put_in_place(file, keys, key)
        if opens(file.file, ring.current):
            return undone(file, keys)
    except OSError as error:
        raise StorageError(f"a change of the encryption of {file.store} cannot go on: {error.strerror}") from error
    raise StoreCorrupt(f"{file.store} is in neither form of a change of its encryption: restore a backup")


def undone(file: KeyFile, keys: SealedKeys, *, is_clean: bool = False) -> SealedKeys:
    """Remove the draft, and go on with the keys as they were; if it is clean, no objects of the draft are left."""
    ring = keys.ring
    for suffix in ("", "-journal", "-wal", "-shm"):
        file.file.with_name(f"{ring.draft}{suffix}").unlink(missing_ok=True)
    stale = ring.stale if is_clean else (*ring.stale, ring.coming)
    objects = ring.objects if stale else ()
    before = keys.with_ring(replace(ring, stale=stale, coming=None, draft=None, objects=objects))
    if ring.current is None and not stale:
        file.remove()
    else:
        file.replace(before)
    return before


def opens(path: Path, form: Form) -> bool:
    """Whether the file is a database in that form, maybe a damaged one. Raises StoreBusy and StorageError."""
    if not path.exists():
        return False
    module = driver(form)
    how = "mode=ro" if log_of(path).exists() else "immutable=1"  # the first would leave files beside it
    try:
        with closing(module.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() is not None
    except module.Error as error:
        return _is_damaged(path, error)


def _is_damaged(path: Path, error: Any) -> bool:
    """Whether the driver could open the file in that form at all. Raises what keeps it from telling."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_NOTADB) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        raise StoreBusy(f"{path} is in use: try again later") from None
    if code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        raise StorageError(f"{path} cannot be read: {error}") from None
    return bool(code == sqlite3.SQLITE_CORRUPT)  # a file in another form is no database at all


def _is_spoilt(path: Path) -> bool:
    with path.open("rb") as file:  # which nobody has open: it was about to be replaced
        return file.read(len(SPOILT)) == SPOILT
