"""Scrubbing: what deleted rows left in the files of a PostgreSQL database is overwritten.

VACUUM FULL writes a table anew without its dead rows, and holds it alone meanwhile; ANALYZE takes new samples for
`pg_stats`, which quotes values; a checkpoint brings both to the disk. The server's log of changes (WAL), its archive
and its standbys keep what they were told until they let it go by their own settings.
"""

from __future__ import annotations

from psycopg import errors
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from memoryos.infrastructure.vault.scrubbed import Progress

_TABLES = text(  # ours, and those of the candidate index; only their owner may rewrite them
    "SELECT c.oid::regclass::text, pg_has_role(c.relowner, 'USAGE') FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND (n.nspname = current_schema() OR n.nspname LIKE 'memoryos%') ORDER BY 1"
)

_MAY_NOT_CHECKPOINT = "checkpoint: the role may not; let an administrator run CHECKPOINT, or GRANT pg_checkpoint"


def scrub(engine: Engine, progress: Progress | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What was done and what was refused, by name."""
    done: list[str] = []
    refused: list[str] = []
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        found = connection.execute(_TABLES).all()
        for number, (table, is_ours) in enumerate(found, 1):
            if is_ours:
                connection.execute(text(f"VACUUM (FULL, ANALYZE) {table}"))
                done.append(table)
            else:
                refused.append(f"{table}: it belongs to another role, which has to run this")
            if progress:
                progress(number, len(found) + 1)
        if _has_checkpoint(connection):
            done.append("checkpoint")
        else:
            refused.append(_MAY_NOT_CHECKPOINT)
        if progress:
            progress(len(found) + 1, len(found) + 1)
    return tuple(done), tuple(refused)


def _has_checkpoint(connection: Connection) -> bool:
    try:
        connection.execute(text("CHECKPOINT"))
    except DBAPIError as error:
        if isinstance(error.orig, errors.InsufficientPrivilege):
            return False
        raise
    return True
