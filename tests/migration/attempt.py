"""Run by a test in a process of its own: open the store in a folder, add one long page, say how it went.

    python -m migration.attempt FOLDER

Once everything is imported, changes to the user in ATTEMPT_USER, for root may write anywhere, and writes no file beyond
ATTEMPT_MEGABYTES. It does so itself: whoever forked for it might have threads, such as Milvus's, that do not bear it.
"""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import alembic.command  # noqa: F401 - while its files can be read

from contract.append import append
from contract.back_ends import BACK_ENDS
from memoryos.clock import system_clock
from memoryos.errors import StorageError

LONG = "bees " * 300_000  # 1.5 MB


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
    if megabytes := os.environ["ATTEMPT_MEGABYTES"]:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(megabytes) << 20, int(megabytes) << 20))
    if os.environ["ATTEMPT_USER"]:
        os.setuid(int(os.environ["ATTEMPT_USER"]))
    sys.stdout.write(attempt(Path(sys.argv[1])))
