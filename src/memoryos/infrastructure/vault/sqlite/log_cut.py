"""The write-ahead log, given back a part at a time.

To empty a log is to give back its file, which takes as long as the file is large: 25 to 45 ms of CPU for 226 MB. SQLite
begins a log again in the file that is there; the commit that does it cuts the file, if there is a limit for its size.
So a large log is cut by some megabytes with each of several small commits. What is left of the old log belongs to no
state, as after every new beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection

LOG_PART = 16 * 2**20  # bytes that are given back in one step: 4 ms of CPU on ext4, 2 in memory


def sizes_after(size: int) -> Iterator[int]:
    """The sizes of a log after each of the steps that empty it."""
    yield from range(size - LOG_PART, 0, -LOG_PART)
    if size:
        yield 0


def is_log_cut(writer: Connection, most: int, wait_ms: int = 0) -> bool:
    """Cut the log to so many bytes; return whether no other connection prevented it.

    What is in the log is already on the disk. Call it outside a transaction.
    """
    cursor = writer.connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {wait_ms}")
    try:
        is_busy, _, _ = cursor.execute(f"PRAGMA wal_checkpoint({'RESTART' if most else 'TRUNCATE'})").fetchone()
        if most and not is_busy:
            _begin_again(cursor, most)
    except operational(writer):
        return False
    finally:
        cursor.execute("PRAGMA busy_timeout = 0")  # the waiting is ours
    return not is_busy


def _begin_again(cursor: Any, most: int) -> None:
    """Commit what changes nothing, with a limit for the log."""
    cursor.execute(f"PRAGMA journal_size_limit = {most}")
    try:
        ((version,),) = cursor.execute("PRAGMA user_version").fetchall()
        cursor.execute(f"PRAGMA user_version = {version}")
    finally:
        cursor.execute("PRAGMA journal_size_limit = -1")


def operational(connection: Connection) -> Any:
    """The class of the driver's errors about locks and the like."""
    return connection.dialect.loaded_dbapi.OperationalError
