"""The record of the embedder in `meta`: without it nobody knows what made the vectors of a store."""

from __future__ import annotations

from sqlalchemy import Connection, select

from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.vault import migrations, queries, tables
from memoryos.infrastructure.vault.statements import ask


def is_named(connection: Connection, store: str) -> bool:
    """Whether a store of our schema names its embedder. Raises StoreCorrupt if it does not and has memories."""
    if not migrations.is_current(connection):
        return False
    if any(ask(connection, queries.EMBEDDER, {})):
        return True
    if connection.scalar(select(tables.cubes.c.id).limit(1)) is not None:
        raise StoreCorrupt(
            f"{store}: the table meta does not name the embedder, and the store has memories. {StoreCorrupt.__doc__}"
        )
    return False
