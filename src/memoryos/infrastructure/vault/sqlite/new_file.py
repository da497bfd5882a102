"""The tables of a new store in a SQLite file, as the migrations make them.

They are made from their text: to import Alembic and to run every migration takes ten times as long.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from memoryos.infrastructure.vault import migrations

FILE = Path(__file__).parent / "new_file.sql"  # written by tools/build_new_file.py; a blank line ends a statement

_MADE_BY_US = (  # SQLite makes the others itself; `stamp` makes the record of the schema
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    " AND name <> 'alembic_version' ORDER BY rowid"
)


def create(connection: Connection) -> None:
    """Create all tables, indexes and triggers in an empty file, and record the schema version."""
    cursor = connection.connection.cursor()
    for statement in FILE.read_text("utf-8").rstrip().split("\n\n"):
        cursor.execute(statement)
    migrations.stamp(connection)


def statements_of(connection: Connection) -> list[str]:
    """The statements that create the tables, indexes and triggers of a database."""
    return [sql for (sql,) in connection.exec_driver_sql(_MADE_BY_US)]
