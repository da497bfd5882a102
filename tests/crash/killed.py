"""Stores whose process was killed, at one step after the other of what it did."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from crash.checks import assert_sound
from crash.stores import open_store
from memoryos.clock import Clock, system_clock
from memoryos.memory import MemoryOS

TESTS = Path(__file__).parents[1]
PAGES = 8  # before anything happened


@dataclass(frozen=True)
class Victim:
    """A store after the process that used it died, or for the last one: lived."""

    path: Path
    done: str | None  # what the process was told is done

    def reopen(self, folder: Path, clock: Clock = system_clock) -> MemoryOS:
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


def victims(scenario: str, template: Path, folder: Path) -> list[Victim]:
    """The stores of all who died in the scenario, and last that of the one who lived."""
    command = [sys.executable, "-m", "crash.victims", scenario, str(template), str(folder)]
    subprocess.run(command, cwd=TESTS, check=True, timeout=120)
    found = []
    for step in sorted(int(path.stem) for path in folder.glob("[0-9]*.db")):
        done = folder / f"{step}.done"
        found.append(Victim(folder / f"{step}.db", done.read_text() if done.exists() else None))
    assert found[-1].done is not None, "the last one has no step to die at"
    return found
