"""Scrubbing: overwrites the traces of deleted rows in the files of a PostgreSQL database.

VACUUM FULL writes a table anew without its dead rows, and holds it alone meanwhile; a checkpoint brings it to the disk.
`pg_stats` quotes values of columns, also of a partitioned table as a whole; ANALYZE takes new samples, but of an empty
table it keeps the old ones, so all are cleared first, which PostgreSQL can do since 18. Their table is rewritten last:
its file keeps dead rows, too. The server's log of changes (WAL), its archive and its standbys keep what they were told
until they let it go by their own settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from psycopg import errors
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from memoryos.progress import Progress

CANDIDATES = "memoryos_candidates"  # the schema of the candidate index

_TABLES = text(  # ours, and those of the candidate index; only their owner may rewrite them
    "SELECT c.oid::regclass::text, pg_has_role(c.relowner, 'USAGE') FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " WHERE c.relkind = 'r' AND n.nspname IN (current_schema(), :candidates) ORDER BY 1"
)

_WHOLE = text(  # the partitioned tables of ours
    "SELECT c.oid::regclass::text FROM pg_class c WHERE c.relkind = 'p'"
    " AND c.relnamespace = pg_catalog.to_regnamespace(current_schema()::text) AND pg_has_role(c.relowner, 'USAGE')"
    " ORDER BY 1"
)

_CLEARING_SINCE = (18,)  # version of the server
_CLEARING = text(  # our role cannot see which there are: the fence between tenants hides them
    "SELECT pg_catalog.pg_clear_attribute_stats(n.nspname, c.relname, a.attname, inherited)"
    " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped,"
    " (VALUES (true), (false)) AS each (inherited)"
    " WHERE c.relkind IN ('r', 'p') AND n.nspname IN (current_schema(), :candidates)"
    " AND pg_has_role(c.relowner, 'USAGE')"
)
_MAY_NOT_CLEAR = (
    "statistics: PostgreSQL before 18 keeps those of tables that became empty; scrub again after a superuser has run"
    " DELETE FROM pg_statistic WHERE starelid IN (SELECT oid FROM pg_class WHERE reltuples = 0)"
)
_MAY_REWRITE_STATISTICS = text(  # the owner of the database may, and a superuser
    "SELECT pg_has_role(datdba, 'USAGE') FROM pg_catalog.pg_database WHERE datname = current_database()"
)
_STATISTICS = "pg_catalog.pg_statistic"  # the file of the table keeps its dead rows, too
_MAY_NOT_REWRITE_STATISTICS = (
    "pg_statistic: only the owner of the database may rewrite it; let them run VACUUM FULL pg_catalog.pg_statistic"
)
_MAY_NOT_CHECKPOINT = "checkpoint: the role may not; let an administrator run CHECKPOINT, or GRANT pg_checkpoint"


def scrub(
    engine: Engine, settings: Mapping[str, str], progress: Progress | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Scrub and return what was done and what was refused, by name."""
    done: list[str] = []
    refused: list[str] = []
    with _session(engine, settings) as connection:
        if not _has_cleared(connection):
            refused.append(_MAY_NOT_CLEAR)
        found = connection.execute(_TABLES, {"candidates": CANDIDATES}).all()
        for number, (table, is_ours) in enumerate(found, 1):
            if is_ours:
                connection.execute(text(f"VACUUM (FULL, ANALYZE) {table}"))
                done.append(table)
            else:
                refused.append(f"{table}: it belongs to another role, which has to run this")
            if progress:
                progress(number, len(found) + 1)
        done.extend(_analyzed(connection))
        if connection.scalar(_MAY_REWRITE_STATISTICS):
            connection.execute(text(f"VACUUM FULL {_STATISTICS}"))
            done.append("pg_statistic")
        else:
            refused.append(_MAY_NOT_REWRITE_STATISTICS)
        if _has_checkpoint(connection):
            done.append("checkpoint")
        else:
            refused.append(_MAY_NOT_CHECKPOINT)
        if progress:
            progress(len(found) + 1, len(found) + 1)
    return tuple(done), tuple(refused)


def _has_cleared(connection: Connection) -> bool:
    """Remove every statistic, if the server can."""
    if (connection.dialect.server_version_info or ()) < _CLEARING_SINCE:
        return False
    connection.execute(_CLEARING, {"candidates": CANDIDATES})
    return True


def _analyzed(connection: Connection) -> list[str]:
    """Take new samples of each partitioned table as a whole; their names. Only who asks for it has them."""
    whole: list[str] = list(connection.execute(_WHOLE).scalars())
    for table in whole:
        connection.execute(text(f"ANALYZE {table}"))
    return whole


@contextmanager
def _session(engine: Engine, settings: Mapping[str, str]) -> Iterator[Connection]:
    """A connection without transactions, with these settings while the block takes."""
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        for setting in settings.items():
            connection.exec_driver_sql("SELECT pg_catalog.set_config(%s, %s, false)", setting)
        try:
            yield connection
        finally:
            connection.invalidate()  # nobody else may get it with these settings


def _has_checkpoint(connection: Connection) -> bool:
    try:
        connection.execute(text("CHECKPOINT"))
    except DBAPIError as error:
        if isinstance(error.orig, errors.InsufficientPrivilege):
            return False
        raise
    return True
