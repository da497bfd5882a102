"""Rows of whole tables, of every tenant, in the order of their keys: how stores are compared, copied and summed up.

Both databases order keys alike, byte by byte, so two stores can be walked side by side, some rows at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Row, Table, delete, func, insert, select, tuple_

from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.checksum import is_utf8, shown

AT_A_TIME = 2_000  # rows held at once

CONTENT = [  # cubes before what needs them; a copy has a `meta` and objects of its own
    table for table in tables.metadata.sorted_tables if table not in (tables.meta, tables.blobs)
]

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Sum:
    """The number of rows and a checksum of a table; equal for equal rows."""

    rows: int
    sha256: str  #: of the rows in the order of their keys, as `canonical` writes them


def key_of(table: Table) -> list[Column[Any]]:
    """The columns that identify a row, in SQLite and in PostgreSQL."""
    return [table.c[column.name] for column in table.primary_key]


def stream(connection: Connection, table: Table) -> Iterator[Row[Any]]:
    """Every row in the order of its key."""
    query = select(table).order_by(*key_of(table))
    yield from connection.execute(query, execution_options={"yield_per": AT_A_TIME})


def count(connection: Connection, chosen: Iterable[Table] = CONTENT) -> int:
    """The number of rows of these tables."""
    return sum(connection.scalar(select(func.count()).select_from(table)) or 0 for table in chosen)


def is_empty(connection: Connection, chosen: Iterable[Table] = CONTENT) -> bool:
    """Whether these tables have no row."""
    return not any(connection.execute(select(table).limit(1)).first() for table in chosen)


def summed(connection: Connection, table: Table) -> Sum:
    """Read all of a table."""
    digest, number = sha256(), 0
    names = sorted(column.name for column in table.columns)
    for row in stream(connection, table):
        digest.update(canonical(row, names))
        number += 1
    return Sum(number, digest.hexdigest())


def canonical(row: Row[Any], names: Sequence[str]) -> bytes:
    """The values of these columns as one line: a JSON list in ASCII, bytes in hexadecimal."""
    values = [row._mapping[name] for name in names]
    return json.dumps(values, default=_hexadecimal, separators=(",", ":")).encode() + b"\n"


def missing(ours: Connection, theirs: Connection, table: Table) -> Iterator[Row[Any]]:
    """Our rows that the other store lacks or has differently."""
    return (row for row, other in _side_by_side(ours, theirs, table) if row is not None and row != other)


def surplus(ours: Connection, theirs: Connection, table: Table) -> Iterator[Row[Any]]:
    """Rows of the other store that ours lacks or has differently."""
    return (other for row, other in _side_by_side(ours, theirs, table) if other is not None and row != other)


def insert_all(connection: Connection, table: Table, rows: Sequence[Row[Any]]) -> None:
    """Insert rows as they are, with the numbers that they have. Raises StoreCorrupt, which names one that cannot be."""
    try:
        connection.execute(insert(table), [row._asdict() for row in rows])
    except UnicodeEncodeError:  # it holds what a user said
        raise _undone(table, rows) from None


def remove(connection: Connection, table: Table, rows: Sequence[Row[Any]]) -> None:
    """Remove rows, with the rows that depend on them."""
    key = key_of(table)
    wanted = [tuple(row._mapping[column.name] for column in key) for row in rows]
    connection.execute(delete(table).where(tuple_(*key).in_(wanted)))


def is_legible(row: Row[Any]) -> bool:
    """Whether all text in it is UTF-8."""
    return all(is_utf8(value) for value in row if isinstance(value, str))


def cube_of(row: Row[Any]) -> str:
    """The id of the cube that a row is, or belongs to; empty without one."""
    told = row._mapping.get("cube_id", row._mapping.get("source"))
    if told is None and "document" in row._mapping:
        told = row._mapping.get("id")
    return "" if told is None else shown(told)


def batches(items: Iterable[_Item], size: int) -> Iterator[list[_Item]]:
    """The items in batches."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def _side_by_side(
    ours: Connection, theirs: Connection, table: Table
) -> Iterator[tuple[Row[Any] | None, Row[Any] | None]]:
    """Each key that one of the two has, with our row and theirs."""
    left, right = _keyed(ours, table), _keyed(theirs, table)
    row, other = next(left, None), next(right, None)
    while row or other:
        if other is None or (row and row[0] < other[0]):
            yield row[1] if row else None, None
            row = next(left, None)
        elif row is None or other[0] < row[0]:
            yield None, other[1]
            other = next(right, None)
        else:
            yield row[1], other[1]
            row, other = next(left, None), next(right, None)


def _keyed(connection: Connection, table: Table) -> Iterator[tuple[tuple[Any, ...], Row[Any]]]:
    places = [list(table.c).index(column) for column in key_of(table)]
    for row in stream(connection, table):
        yield tuple(row[place] for place in places), row


def _undone(table: Table, rows: Sequence[Row[Any]]) -> StoreCorrupt:
    """The error about rows of which one has bytes that are no UTF-8."""
    cubes = [cube_of(row) for row in rows if not is_legible(row)]
    about = f" of the memory {cubes[0]}" if cubes[0] else ""
    return StoreCorrupt(f"a row of {table.name}{about} is damaged: run `memoryos verify`, or restore from a backup")


def _hexadecimal(value: bytes) -> str:
    return value.hex()
