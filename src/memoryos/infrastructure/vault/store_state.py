"""StoreState: what a store is made of and what waits in it, as `memoryos doctor` tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select

from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.vault import migrations, tables
from memoryos.infrastructure.vault.reembedding import EMBEDDER
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.sqlite.cipher import driver
from memoryos.infrastructure.vault.sqlite.still import log_of

_PRIMARY = 0xFF  # of an error code of SQLite; the rest says more


@dataclass(frozen=True, slots=True)
class StoreState:
    """What a store is made of and what waits in it."""

    schema: str  #: number of its schema
    embedder: str | None  #: name of what made its vectors
    jobs: Mapping[str, int]  #: jobs of all tenants by state
    unsettled: int  #: owners whose latest pages an ended process did not assign to segments


def store_state(vault: SqlVault) -> StoreState:
    """Read the state of an open store."""
    jobs = tables.jobs
    embedder = select(tables.meta.c.value).where(tables.meta.c.key == EMBEDDER)
    with vault.snapshot() as connection:
        found = connection.execute(select(jobs.c.state, func.count()).group_by(jobs.c.state))
        counts = {row[0]: row[1] for row in found}
        schema, name = migrations.revision(connection), connection.execute(embedder).scalar()
    return StoreState(schema or "", name, counts, len(vault.unsettled()))


def is_write_locked(path: Path, key: DataKey | None) -> bool:
    """Whether another process writes to the file at this moment. Without a log beside it nobody has it open."""
    if not log_of(path).exists():
        return False
    module = driver(key)
    with closing(module.connect(path)) as connection:
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            connection.execute("BEGIN IMMEDIATE")
        except module.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY:
                raise
            return True
        connection.rollback()
    return False
