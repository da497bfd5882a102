"""ForgottenList: what was forgotten since a backup was made, in a file beside it, for whoever restores the backup.

Each line has the time and a keyed hash of a subject (a tenant, a user, an owner, a session or a memory). The key lies
in the store and in its backups, so the list tells nobody else who was forgotten.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from memoryos.errors import StorageError
from memoryos.signing import key_name

SUFFIX = ".forgotten"

Subject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ForgottenList:
    """The list of one backup."""

    backup: Path

    @property
    def path(self) -> Path:
        """The file of the list."""
        return self.backup.with_name(f"{self.backup.name}{SUFFIX}")

    def add(self, subject: Subject, at: datetime, key: bytes) -> None:
        """Note that a subject was forgotten, so that the note survives a crash. Raises OSError."""
        line = json.dumps({"at": at.isoformat(), "key": key_name(key), "subject": hash_of(subject, key)})
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
            os.fsync(file)
        finally:
            os.close(file)

    def since(self, moment: datetime, key: bytes | None) -> Callable[[Subject], bool] | None:
        """Return what tells whether a subject was forgotten after that moment; None if nothing was.

        Raises StorageError if the notes were written with another key.
        """
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        told = [one for one in map(self._read, lines) if datetime.fromisoformat(one["at"]) >= moment]
        if not told:
            return None
        if key is None or any(one["key"] != key_name(key) for one in told):
            raise StorageError(
                f"{self.path} does not belong to this backup, so nobody can tell who was forgotten since it was made. "
                "Use a later backup; or remove that file, restore, and forget these people again"
            )
        hashes = {one["subject"] for one in told}
        return lambda subject: hash_of(subject, key) in hashes

    def remove(self) -> None:
        """Remove the list of a backup that is gone."""
        self.path.unlink(missing_ok=True)

    def _read(self, line: str) -> dict[str, str]:
        try:
            told = json.loads(line)
            return {name: str(told[name]) for name in ("at", "key", "subject")}
        except (ValueError, TypeError, KeyError):
            raise StorageError(f"{self.path} cannot be read: a line is no record of what was forgotten") from None


def hash_of(subject: Subject, key: bytes) -> str:
    """The keyed hash of a subject."""
    text = json.dumps(subject, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), sha256).hexdigest()
