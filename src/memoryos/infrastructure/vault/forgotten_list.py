"""ForgottenList: what was forgotten since a backup was made, in a file beside it, for whoever restores the backup.

Each line has the time and a keyed hash of a subject (a tenant, a user, an owner, a session or a memory). The key lies
in the store and in its backups, so the list tells nobody else who was forgotten. All of its lines count, whatever their
time: clocks are set back, and a backup with the same name begins a new list.
"""

from __future__ import annotations

import hmac
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from errno import EINVAL
from hashlib import sha256
from pathlib import Path
from typing import Any

from memoryos.errors import StorageError
from memoryos.infrastructure.objects.object_store import settle
from memoryos.signing import key_name

SUFFIX = ".forgotten"

Subject = Mapping[str, Any]

_SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK  # a link or a pipe in the place of the file is neither followed nor waited for
_ELSE = "Use a later backup; or remove that file, restore, and forget in the restored store whom the receipts name"


@dataclass(frozen=True, slots=True)
class ForgottenList:
    """The list of one backup."""

    backup: Path

    @property
    def path(self) -> Path:
        """The file of the list, beside the file to which links lead."""
        real = Path(os.path.realpath(self.backup))
        return real.with_name(f"{real.name}{SUFFIX}")

    def add(self, subject: Subject, at: datetime, key: bytes) -> None:
        """Note that a subject was forgotten, so that the note survives a crash. Raises OSError."""
        line = json.dumps({"at": at.isoformat(), "key": key_name(key), "subject": hash_of(subject, key)})
        with self._opened(os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
            size = os.fstat(file).st_size
            is_cut = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            _write(file, f"{chr(10) * is_cut}{line}\n".encode())
            os.fsync(file)
        if size == 0:
            settle(self.path.parent)

    def reader(self, key: bytes | None) -> Callable[[Subject], bool] | None:
        """Return what tells whether a subject was forgotten since; None if nothing was.

        Raises StorageError if the file cannot be read, or was written with another key.
        """
        told = [self._note(number, line) for number, line in enumerate(self._lines(), 1) if line]
        if not told:
            return None
        if key is None or any(one["key"] != key_name(key) for one in told):
            raise StorageError(
                f"{self.path} does not belong to this backup, so nobody can tell who was forgotten since it was made. "
                f"{_ELSE}"
            )
        hashes = {one["subject"] for one in told}
        return lambda subject: hash_of(subject, key) in hashes

    def remove(self) -> None:
        """Remove the list of a backup that is gone. Raises StorageError."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            told = f"{self.path} is of an earlier backup and cannot be removed: {error.strerror}"
            raise StorageError(f"{told}. Remove it, or name another file") from None

    def _lines(self) -> list[str]:
        try:
            with self._opened(os.O_RDONLY) as file, open(file, "rb", closefd=False) as stream:
                *whole, last = stream.read().decode("ascii").split("\n")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or "it is no text"
            raise StorageError(f"{self.path} cannot be read: {why}. {_ELSE}") from None
        if last:
            raise self._cut(len(whole) + 1)
        return whole

    def _note(self, number: int, line: str) -> dict[str, str]:
        try:
            told = json.loads(line)
            _check_time(told["at"])
            return {name: _text(told[name]) for name in ("key", "subject")}
        except (ValueError, TypeError, KeyError, RecursionError):
            raise self._cut(number) from None

    def _cut(self, number: int) -> StorageError:
        """Such a line is not skipped: whoever was forgotten would come back without a word."""
        return StorageError(
            f"{self.path} cannot be read: line {number} is no whole record of what was forgotten. The machine may have "
            "stopped while it was written. One erasure comes back without it: remove that line, restore, and forget in "
            "the restored store who was being forgotten then"
        )

    @contextmanager
    def _opened(self, how: int) -> Iterator[int]:
        file = os.open(self.path, how | _SAFELY, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(EINVAL, "it is not a regular file")
            yield file
        finally:
            os.close(file)


def hash_of(subject: Subject, key: bytes) -> str:
    """The keyed hash of a subject."""
    text = json.dumps(subject, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), sha256).hexdigest()


def _check_time(text: str) -> None:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("no time zone")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _write(file: int, data: bytes) -> None:
    """Write all of it: a call may write less."""
    while data:
        data = data[os.write(file, data) :]
