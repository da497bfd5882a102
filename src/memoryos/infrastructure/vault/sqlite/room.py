"""Room: whether a file could not grow for lack of space, which SQLite tells only of a disk that is full.

Of a quota and of a limit of file sizes it says "disk I/O error", as of a broken disk, and not what the system said.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from tempfile import TemporaryFile

from memoryos.infrastructure.objects.object_store import LACKS

_PAGE = bytes(4096)

UNWRITTEN = (  # maybe for this; the first one is what SQLCipher says of all
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_IOERR_TRUNCATE,
)


def lack_beside(*files: Path) -> str | None:
    """What the system says to a file that grows beyond the largest of these, in their folder; None if it may.

    The file has a hole up to there, so this takes no more space than a page, and no time.
    """
    largest = max((file.stat().st_size for file in files if file.exists()), default=0)
    try:
        with TemporaryFile(dir=files[0].parent, buffering=0) as probe:
            probe.seek(largest)
            probe.write(_PAGE)
            os.fsync(probe.fileno())  # some file systems count a quota only now
    except OSError as error:
        return os.strerror(error.errno) if error.errno in LACKS else None
    return None
