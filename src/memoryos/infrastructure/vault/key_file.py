"""KeyFile: the file beside a store with its sealed keys; it is replaced as a whole."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from uuid_utils.compat import uuid7

from memoryos.errors import StorageError, StoreBusy, StoreCorrupt, StoreFull, StoreReadOnly, WrongKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey
from memoryos.infrastructure.encryption.sealed_keys import SealedKeys, says_encrypted, slots_in
from memoryos.infrastructure.objects.object_store import LACKS, settle
from memoryos.infrastructure.vault.patience import patience
from memoryos.plain import Plain

SUFFIX = ".sealed"

_PAUSE = 0.005  # seconds between two tries to lock a folder


@dataclass(frozen=True, slots=True)
class EncryptionStatus(Plain):
    """The encryption of the file of a store."""

    is_encrypted: bool  #: whether it is encrypted; also while it is being decrypted
    keys: int  #: how many keys open it; 2 or more while a key is rotated


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The sealed keys of the store at `store`. A store without this file is in clear."""

    store: Path
    busy_timeout_seconds: float = 0.0  #: how long it waits for others who hold the lock of the folder

    @property
    def path(self) -> Path:
        """Where it is: beside the file itself, if the store is named by a link."""
        return self.file.with_name(f"{self.file.name}{SUFFIX}")

    @property
    def file(self) -> Path:
        """The file of the store itself, if it is named by a link."""
        return self.store.resolve() if self.store.is_symlink() else self.store

    def exists(self) -> bool:
        """Whether there is such a file."""
        return self.data() is not None

    def data(self) -> bytes | None:
        """The content; None if there is no such file. Raises StorageError."""
        try:
            return self.path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            if self.path.is_symlink():
                missing = "is a link, and the file with the sealed keys that it names is missing"
                raise StorageError(f"{self.path} {missing}: put that back, or remove the link") from None
            return None
        except OSError as error:
            raise StorageError(f"{self.path} cannot be read: {error.strerror}") from error

    def open(self, key: EncryptionKey) -> SealedKeys:
        """The keys. Raises WrongKey and StorageError."""
        data = self.data()
        if data is None:
            raise WrongKey(f"{self.store} is not encrypted any more: open it without a key")
        with self._named():
            opened = SealedKeys.opened(data, key)
        if opened is None:
            raise WrongKey(f"{self.store} is encrypted with another key: pass the key that it was encrypted with")
        return opened

    def make(self, keys: SealedKeys) -> bool:
        """Write the first keys; return whether nobody else was faster."""
        with self._draft(keys.to_bytes()) as draft:
            try:
                os.link(draft, self.path)
            except FileExistsError:
                return False
        settle(self.path.parent)
        return True

    def replace(self, keys: SealedKeys) -> None:
        """Write other keys in their place, durably."""
        self._sweep()
        with self._draft(keys.to_bytes()) as draft:
            draft.replace(self.path)
        settle(self.path.parent)

    def rotate(self, key: EncryptionKey, new: EncryptionKey, *, keep_old: bool) -> None:
        """Let the new key open the store, in the place of all others or beside them. Raises WrongKey and StoreBusy."""
        with self.alone():
            keys = self.open(key)
            if keys.ring.draft is not None:
                raise StoreBusy(f"a change of the encryption of {self.store} was interrupted: open it once")
            is_known = SealedKeys.opened(keys.to_bytes(), new) is not None
            kept = keys if is_known else keys.with_slot(new)
            self.replace(kept if keep_old else SealedKeys.new(keys.ring, new))

    def status(self) -> EncryptionStatus:
        """What the file tells without a key. Raises StorageError."""
        data = self.data()
        with self._named():
            if data is None or not says_encrypted(data):
                return EncryptionStatus(is_encrypted=False, keys=0)
            return EncryptionStatus(is_encrypted=True, keys=slots_in(data))

    def remove(self) -> None:
        """Remove the file: the store is not encrypted any more."""
        self._sweep()
        self.path.unlink(missing_ok=True)
        settle(self.path.parent)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Name the file in an error about its content."""
        try:
            yield
        except StoreCorrupt as error:
            raise StoreCorrupt(f"{self.path}: {error}") from None

    @property
    def _short_name(self) -> str:
        return f".{sha256(os.fsencode(self.path.name)).hexdigest()[:16]}"

    def _sweep(self) -> None:
        """Remove the drafts of processes that died."""
        for left in self.path.parent.glob(f"{self._short_name}.*.partial"):
            left.unlink(missing_ok=True)

    @contextmanager
    def _draft(self, data: bytes) -> Iterator[Path]:
        draft = self.path.with_name(f"{self._short_name}.{uuid7()}.partial")
        try:
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            yield draft
        except OSError as error:
            kind = StoreFull if error.errno in LACKS else StoreReadOnly
            raise kind(f"{self.path} cannot be written: {error.strerror}. {kind.__doc__}") from error
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)

    @contextmanager
    def beginning(self) -> Iterator[None]:
        """Keep others from beginning this store, with a key or without, where the file system has such locks.

        Waits for them. Raises StoreBusy.
        """
        try:
            folder = os.open(self.path.parent, os.O_RDONLY)
        except OSError:  # whoever makes the store in it tells what is wrong
            yield
            return
        try:
            with suppress(OSError):  # the system cannot lock it
                self._lock(folder)
            yield
        finally:
            _unlock(folder)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep others from changing the keys of all stores in this folder. Waits for them. Raises StoreBusy."""
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            self._lock(folder)
            yield
        finally:
            _unlock(folder)

    def _lock(self, folder: int) -> None:
        waiting = patience(self.busy_timeout_seconds)
        while not _is_locked(folder):
            if not waiting.left:
                told = f"another process begins a store in {self.path.parent}, or changes the encryption of one"
                raise StoreBusy(f"{told}; nothing was done to {self.store}: try again later")
            waiting.pause(_PAUSE)


def _is_locked(folder: int) -> bool:
    """Try to lock the folder."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(folder: int) -> None:
    """Give the lock up, also in the name of a child that was forked meanwhile and has the descriptor, too."""
    with suppress(OSError):
        fcntl.flock(folder, fcntl.LOCK_UN)
    os.close(folder)
