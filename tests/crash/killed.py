"""Stores whose process was killed, at one step after the other of what it did."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import forked
from crash.checks import assert_sound
from crash.stores import open_store
from memoryos import Memory
from memoryos.clock import Clock, system_clock

TESTS = Path(__file__).parents[1]
PAGES = 8  # before anything happened


@dataclass(frozen=True)
class Victim:
    """A store after a process that used it died, or for the last one: lived."""

    path: Path
    done: str | None  # what the process was told is done
    deaths: int = 1  # in a row that left exactly this

    @classmethod
    def at(cls, path: Path) -> Victim:
        done = path.with_suffix(".done")
        return cls(path, done.read_text() if done.exists() else None)

    def reopen(self, folder: Path, clock: Clock = system_clock) -> Memory:
        """Open a copy of what the process left, so that each test finds it as it was."""
        path = copy(self.path, folder)
        assert_sound(path)
        return open_store(path, clock)


def copy(path: Path, folder: Path) -> Path:
    """A copy of a store, with what is in its log."""
    target = folder / "copy.db"
    for suffix in ("", "-wal", "-shm"):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
        if suffix != "-shm" and Path(f"{path}{suffix}").exists():
            shutil.copyfile(f"{path}{suffix}", f"{target}{suffix}")
    return target


def victims_of(scenario: str, template: Path, folder: Path, *, long: bool) -> list[Victim]:
    """The stores of all who died in the scenario, and last that of the one who lived.

    Of those in a row who left the same, one is given.
    """
    ended = forked.python("-m", "crash.victims", scenario, str(template), str(folder), *["long"] * long, cwd=TESTS)
    assert ended.returncode == 0, ended.stderr
    steps = sorted(int(path.stem) for path in folder.glob("[0-9]*.db"))
    found = [Victim.at(folder / f"{step}.db") for step in steps]
    assert found[-1].done is not None, "the last one has no step to die at"
    alike = [list(group) for _, group in groupby(found, key=_left)]
    return [replace(group[-1], deaths=len(group)) for group in alike]


def steps(found: list[Victim]) -> int:
    """About how many steps the scenario has: the number of the one that the last did not meet."""
    return int(found[-1].path.stem)


def _left(victim: Victim) -> dict[str, bytes]:
    """All that a process left: what its store holds, and each file that it made beside it."""
    with TemporaryDirectory() as folder, closing(sqlite3.connect(copy(victim.path, Path(folder)))) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        left = {"store": connection.serialize() if pages else b""}
    for path in victim.path.parent.glob(f"{victim.path.stem}.*"):
        if path.is_file() and path.suffix not in (".db", ".db-wal", ".db-shm"):
            left[path.name.partition(".")[2]] = path.read_bytes()
        elif path.is_dir():
            left.update((f"object {file.name}", file.read_bytes()) for file in path.iterdir())
    return left
