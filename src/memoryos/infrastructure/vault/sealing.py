"""Sealing: rows that an older program wrote get their checksum, some in each transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, Row, Table, bindparam, select, tuple_, update

from memoryos.infrastructure.vault import checksum, rows, tables

AT_A_TIME = 500  # rows sealed in one transaction

_SUM_OF: dict[Table, Callable[[Any], int]] = {
    tables.cubes: lambda row: checksum.of_text(row.document),
    tables.versions: lambda row: checksum.of_text(row.document),
    tables.vectors: lambda row: checksum.of_bytes(row.data),
    tables.passages: checksum.of_passage,
}

Change = Callable[[], AbstractContextManager[Connection]]


def seal(change: Change) -> int:
    """Give every row without a checksum that of what it holds now; returns how many there were."""
    return sum(_sealed(change, table) for table in _SUM_OF)


def _sealed(change: Change, table: Table) -> int:
    """Seal a table in the order of its key, in short transactions; a row that holds no text is left as it is."""
    done, last = 0, None
    while True:
        with change() as connection:
            batch = _unsealed(connection, table, last)
            if sums := list(_sums(table, batch)):
                connection.execute(_update_of(table), sums)
        if not batch:
            return done
        done += len(sums)
        last = tuple(batch[-1]._mapping[column.name] for column in rows.key_of(table))


def _unsealed(connection: Connection, table: Table, after: tuple[Any, ...] | None) -> list[Row[Any]]:
    key = rows.key_of(table)
    query = select(table).where(table.c.checksum.is_(None)).order_by(*key).limit(AT_A_TIME)
    return list(connection.execute(query if after is None else query.where(tuple_(*key) > tuple_(*after))))


def _sums(table: Table, batch: list[Row[Any]]) -> Iterator[dict[str, Any]]:
    for row in batch:
        key = {f"of_{column.name}": row._mapping[column.name] for column in rows.key_of(table)}
        if _is_sound(table, row):
            yield {**key, "sum": _SUM_OF[table](row)}


def _is_sound(table: Table, row: Row[Any]) -> bool:
    if table is tables.passages:
        return checksum.is_passage_sound(row)
    if table is tables.vectors:
        return checksum.is_vector_sound(row.data, None)
    return checksum.is_text_sound(row.document, None)


def _update_of(table: Table) -> Any:
    mine = [column == bindparam(f"of_{column.name}") for column in rows.key_of(table)]
    return update(table).where(*mine).values(checksum=bindparam("sum"))
