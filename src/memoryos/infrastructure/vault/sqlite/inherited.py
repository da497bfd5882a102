"""Inherited files: those that were open when this process was forked, and which SQLite can no longer lock in it.

SQLite remembers by process which locks it has on a file. A child would take its parent's for its own: it would write
without one, or wait for ever for a writer that is not there (https://www.sqlite.org/howtocorrupt.html, section 2.6).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from memoryos.errors import StorageError


class OpenFile(Protocol):
    """An object that keeps a file open until it is closed or garbage-collected."""

    path: Path


_open: WeakSet[OpenFile] = WeakSet()
_inherited: set[tuple[int, int]] = set()  # device and inode


def opened(file: OpenFile) -> None:
    """Record that the file is open in this process."""
    _open.add(file)


def closed(file: OpenFile) -> None:
    """Record that the file was closed."""
    _open.discard(file)


def is_open(path: Path) -> bool:
    """Whether the file is open in this process."""
    return any(file.path.exists() and path.exists() and file.path.samefile(path) for file in _open)


def refuse_inherited(path: Path) -> None:
    """Raise StorageError if the parent process had the file open when it forked."""
    if path.exists() and _identity(path) in _inherited:
        raise StorageError(
            f"{path} was open when this process forked, and SQLite cannot lock it here: close it before you fork, "
            "open it in the child alone, or start processes by spawn"
        )


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def _inherit() -> None:
    _inherited.update(_identity(file.path) for file in _open if file.path.exists())


os.register_at_fork(after_in_child=_inherit)
