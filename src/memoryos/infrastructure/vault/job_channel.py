"""The signal that wakes workers when jobs become due.

On PostgreSQL a transaction that makes a job due sends a notification, and no other does: to commit one takes a lock
that all who send any share. On SQLite the file itself counts its commits.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, select

CHANNEL = "memoryos_jobs"


def signal(connection: Connection) -> None:
    """Wake the workers when this transaction commits."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_notify(CHANNEL, "")))
