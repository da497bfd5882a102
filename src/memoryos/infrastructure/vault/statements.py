"""The statements that every write runs, each compiled once for a dialect and run by the driver itself.

A durable add takes a fraction of a millisecond; SQLAlchemy's own execution of its five statements would take
longer than the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table, bindparam, func, insert, select, update
from sqlalchemy.dialects import registry
from sqlalchemy.sql import ClauseElement

from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.tables import OWNER

Row = Mapping[str, Any]

_KEY = "key_"  # before the names of parameters that say which row: the others say what it becomes

_STYLES = {"sqlite": "named", "postgresql": "pyformat"}  # of the parameters, as each driver takes them


def insert_rows(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert whole rows; a column that the database numbers by itself is left out."""
    if rows:
        _run(connection, _insertion(connection.dialect.name, table), rows)


def update_cubes(connection: Connection, rows: Sequence[Row]) -> int:
    """Replace cubes, given by all their columns but the position; returns how many were there."""
    keyed = [{**row, **{_KEY + name: row[name] for name in (*OWNER, "id")}} for row in rows]
    return _run(connection, _cube_update(connection.dialect.name), keyed)


def next_position(connection: Connection, owner: Row) -> int:
    """The position after the owner's last cube."""
    cursor = _cursor(connection)
    cursor.execute(_highest_position(connection.dialect.name), {_KEY + name: owner[name] for name in OWNER})
    highest: int | None = cursor.fetchone()[0]
    return (highest or 0) + 1


def _run(connection: Connection, statement: str, rows: Sequence[Row]) -> int:
    cursor = _cursor(connection)
    cursor.executemany(statement, rows)
    return int(cursor.rowcount)


def _cursor(connection: Connection) -> Any:
    return connection.connection.cursor()


@cache
def _insertion(dialect: str, table: Table) -> str:
    numbered = {tables.events.c.sequence}
    return _compiled(dialect, insert(table), [column.name for column in table.columns if column not in numbered])


@cache
def _cube_update(dialect: str) -> str:
    cubes = tables.cubes
    mine = [cubes.c[name] == bindparam(_KEY + name) for name in (*OWNER, "id")]
    changing = [column.name for column in cubes.columns if column.name != "position"]
    return _compiled(dialect, update(cubes).where(*mine), changing)


@cache
def _highest_position(dialect: str) -> str:
    cubes = tables.cubes
    mine = [cubes.c[name] == bindparam(_KEY + name) for name in OWNER]
    return _compiled(dialect, select(func.max(cubes.c.position)).where(*mine))


def _compiled(dialect: str, statement: ClauseElement, names: Sequence[str] | None = None) -> str:
    known = registry.load(dialect)(paramstyle=_STYLES[dialect])
    return str(statement.compile(dialect=known, column_keys=names))
