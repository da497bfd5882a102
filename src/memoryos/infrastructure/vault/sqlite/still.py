"""A store in a folder that may not be written, such as a read-only mount or image.

SQLite reads a store through two files beside it, and makes them when nobody else has it open. Where it cannot, the file
can still be read as one that nobody changes. Nobody promises that: another machine may have the folder mounted for
writing. So the file is looked at before and after each session, and what was read while it changed is refused.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from memoryos.errors import StoreBusy


@dataclass(frozen=True, slots=True)
class StillFile:
    """A file in the state in which it was opened."""

    path: Path
    state: tuple[int, ...]

    @classmethod
    def at(cls, path: Path, *, is_only_read: bool = False) -> StillFile | None:
        """The file, when it has to be read like this: nobody has it open, and its folder may not be written.

        To be only read, also when the file itself may not be: what SQLite put beside it would be ours, and its owner
        could write no more.
        """
        if log_of(path).exists() or not path.is_file():
            return None
        if may_be_written(path.parent) and not (is_only_read and not may_be_written(path)):
            return None
        return cls(path, _state(path))

    def check(self) -> None:
        """Raise StoreBusy if the file changed since it was opened: the data that was read may be inconsistent."""
        if log_of(self.path).exists() or _state(self.path) != self.state:
            raise StoreBusy(f"{self.path} was changed by another process, and is open for reading only: open it again")


def log_of(path: Path) -> Path:
    """The path of SQLite's write-ahead log."""
    return path.with_name(f"{path.name}-wal")


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def may_be_written(path: Path) -> bool:
    """Whether the permissions and the mount allow this process to write there."""
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
