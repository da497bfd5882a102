"""Checksums of what is stored. NULL is of an older program's: a column without a default costs no row a change.

A program of the version before, which goes on beside us, changes a document and leaves the checksum; then a trigger
takes the checksum away.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from memoryos.infrastructure.vault.postgres_tables import guard

revision = "0008"
down_revision = "0007"

_CHANGED = {"cubes": ("document",), "vectors": ("data",), "passages": ("words", "vector")}


def upgrade() -> None:
    for table in ("cubes", "versions", "vectors", "passages"):
        op.add_column(table, sa.Column("checksum", sa.BigInteger))
    if op.get_bind().dialect.name == "postgresql":
        for statement in guard(op.get_bind()):
            op.execute(statement)
        return
    for table, columns in _CHANGED.items():
        op.execute(_trigger(table, columns))


def _trigger(table: str, columns: tuple[str, ...]) -> str:
    differs = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in columns)
    drop = f"UPDATE {table} SET checksum = NULL WHERE rowid = NEW.rowid"  # noqa: S608 - names of ours
    when = f"OLD.checksum IS NEW.checksum AND ({differs})"
    return (
        f"CREATE TRIGGER {table}_checksum AFTER UPDATE OF {', '.join(columns)} ON {table} WHEN {when} BEGIN {drop}; END"
    )
