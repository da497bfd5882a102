"""Statements on PostgreSQL that write many rows at once: each column is one parameter, a list.

So the server plans and runs one statement, where one for each row takes several times as long, all of it under the
owner's lock. The text is the same for any number of rows, so the server keeps its plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Table

Row = Mapping[str, Any]

_ONE = "one_"  # before the names of parameters that are the same for all rows


def lists(names: Iterable[str], rows: Sequence[Row]) -> dict[str, list[Any]]:
    """The columns of rows."""
    return {name: [row[name] for row in rows] for name in names}


@cache
def insertion(table: Table, one: str) -> tuple[str, tuple[str, ...]]:
    """Insert many rows as the statement `one` inserts one; with the names of its lists."""
    head, _, values = one.partition(" VALUES ")
    names = tuple(column.name for column in table.columns if f"%({column.name})s" in values)
    _, conflict, rest = values.partition(" ON CONFLICT ")
    return f"{head} SELECT * FROM {_unnested(table, names)}{conflict}{rest}", names  # noqa: S608 - names of our own


@cache
def update(table: Table, changed: tuple[str, ...], key: str, owner: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Change columns of the rows with these keys, all of one owner; with the names of its lists."""
    names = (key, *changed)
    sets = ", ".join(f"{_quoted(name)} = new.{_quoted(name)}" for name in changed)
    # `coalesce` keeps the server from looking through all that the owner has.
    of_one = [f"{table.name}.tenant = %({_ONE}tenant)s"]
    of_one += [f"coalesce({table.name}.{name}, '') = %({_ONE}{name})s" for name in owner if name != "tenant"]
    where = " AND ".join([*of_one, f"{table.name}.{key} = new.{key}"])
    return f"UPDATE {table.name} SET {sets} FROM {_named('new', table, names)} WHERE {where}", names  # noqa: S608


@cache
def deletion(table: Table) -> tuple[str, tuple[str, ...]]:
    """Delete the rows with these primary keys, all of one tenant; with the names of its lists."""
    names = tuple(column.name for column in table.primary_key if column.name != "tenant")
    same = (f"{table.name}.{_quoted(name)} = gone.{_quoted(name)}" for name in names)
    where = " AND ".join([f"{table.name}.tenant = %({_ONE}tenant)s", *same])
    return f"DELETE FROM {table.name} USING {_named('gone', table, names)} WHERE {where}", names  # noqa: S608


def ones(names: Iterable[str], rows: Sequence[Row]) -> dict[str, Any]:
    """The parameters that are the same for all rows."""
    return {_ONE + name: rows[0][name] for name in names}


def is_of_one(name: str, rows: Sequence[Row]) -> bool:
    """Whether all rows have the same value there."""
    return name in rows[0] and all(row[name] == rows[0][name] for row in rows)


def _named(alias: str, table: Table, names: Sequence[str]) -> str:
    return f"{_unnested(table, names)} AS {alias}({', '.join(map(_quoted, names))})"


def _unnested(table: Table, names: Iterable[str]) -> str:
    return f"unnest({', '.join(f'%({name})s::{_type(table.c[name])}[]' for name in names)})"


def _type(column: Column[Any]) -> str:
    kinds = {BigInteger: "bigint", Integer: "integer", LargeBinary: "bytea"}
    return next((name for kind, name in kinds.items() if isinstance(column.type, kind)), "text")


def _quoted(name: str) -> str:
    return f'"{name}"'
