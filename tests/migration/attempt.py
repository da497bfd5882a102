"""Run by a test in a process of its own: open the store in a folder, add one long page, say how it went.

    python -m migration.attempt FOLDER

Changes to the user in ATTEMPT_USER, once everything is imported: root may write anywhere.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import alembic.command  # noqa: F401 - while its files can be read

from contract.append import append
from contract.back_ends import BACK_ENDS
from memoryos.clock import system_clock
from memoryos.errors import StorageError

LONG = "bees " * 600_000  # 3 MB


def attempt(folder: Path) -> str:
    """Say "added", or which error was raised."""
    try:
        vault = BACK_ENDS["sqlite"](folder, system_clock)
        try:
            append(vault, LONG, 0)
        finally:
            vault.close()
    except StorageError as error:
        return f"{type(error).__name__}: {error}"
    return "added"


if __name__ == "__main__":
    if os.environ["ATTEMPT_USER"]:
        os.setuid(int(os.environ["ATTEMPT_USER"]))
    sys.stdout.write(attempt(Path(sys.argv[1])))
