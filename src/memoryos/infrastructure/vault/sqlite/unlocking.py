"""Unlocking: the data key of a store in a file, by the key of the user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memoryos.errors import StoreReadOnly, WrongKey
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.encryption.sealed_keys import Form, KeyRing, SealedKeys
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.infrastructure.vault.sqlite.cipher import cipher_module
from memoryos.infrastructure.vault.sqlite.fork_gate import InSession
from memoryos.infrastructure.vault.sqlite.sqlite_vault import create_private
from memoryos.infrastructure.vault.sqlite.swap import opens, settled

_SOURCES = "MEMORYOS_ENCRYPTION_KEY, MEMORYOS_ENCRYPTION_KEY_FILE or MEMORYOS_ENCRYPTION_KEYRING"

_CLEAR = "is not encrypted: open it without a key, or run `memoryos encryption encrypt`"


@dataclass(frozen=True, slots=True)
class Unlocked:
    """How a store is written."""

    form: Form
    has_remains: bool = False  #: whether a change of the encryption may have left objects in their earlier form


def unlocked(path: Path, key: EncryptionKey | None, *, is_only_read: bool = False) -> Form:
    """The data key of the store; None if it is not encrypted. See `unlock`."""
    return unlock(path, key, is_only_read=is_only_read).form


def unlock(
    path: Path, key: EncryptionKey | None, *, is_only_read: bool = False, busy_timeout_seconds: float = 0.0
) -> Unlocked:
    """How the store is written. A new store gets a new data key.

    An interrupted change of the encryption is first finished or undone. Raises WrongKey if the key does not fit the
    store, MissingExtra, and StorageError.
    """
    with InSession():  # of OpenSSL, if not of SQLite
        return _unlocked(path, key, KeyFile(path, busy_timeout_seconds), is_only_read=is_only_read)


def _unlocked(path: Path, key: EncryptionKey | None, file: KeyFile, *, is_only_read: bool) -> Unlocked:
    if key is None:
        if is_encrypted(path):
            raise WrongKey(f"{path} is encrypted: set {_SOURCES}, or pass encryption_key")
        return Unlocked(None, has_remains=file.exists())  # it is removed with them
    cipher_module()
    if not file.exists():
        refuse_clear(path)
    if not file.exists():
        return Unlocked(None if is_only_read else _begun(file, key))
    keys = file.open(key)
    if keys.ring.draft is not None:
        if is_only_read:
            raise StoreReadOnly(f"a change of the encryption of {path} was interrupted: open it once for writing")
        with file.alone():
            keys = settled(file, key)
    if keys.ring.current is None:
        raise WrongKey(f"{path} {_CLEAR}")
    return Unlocked(keys.ring.current, has_remains=bool(keys.ring.stale))


def is_encrypted(path: Path) -> bool:
    """Whether the store is encrypted, or a change of that is under way. Raises StorageError."""
    file = KeyFile(path)
    return file.exists() and (file.status().is_encrypted or not opens(path, None))


def refuse_clear(path: Path) -> None:
    """Raise WrongKey if there is a store without sealed keys."""
    if not path.is_file() or not path.stat().st_size:
        return
    if opens(path, None):
        raise WrongKey(f"{path} {_CLEAR}")
    if KeyFile(path).exists():  # which come first: another process began the store meanwhile
        return
    raise WrongKey(f"{KeyFile(path).path}, which holds the sealed keys of {path}, is missing: restore it from a copy")


def _begun(file: KeyFile, key: EncryptionKey) -> DataKey:
    """The key of a new store; of two who begin it, the first one decides."""
    create_private(file.store)
    data_key = DataKey.random()
    if file.make(SealedKeys.new(KeyRing(data_key), key)):
        return data_key
    found = file.open(key).ring.current
    if found is None:
        raise WrongKey(f"{file.store} is not encrypted")
    return found
