"""An INSERT of many rows on PostgreSQL, in which each column is one parameter: a list.

So the server plans and runs one statement, where one for each row takes several times as long, all of it under the
owner's lock. The text is the same for any number of rows, so the server keeps its plan. An UPDATE or DELETE of this
form is no better: without statistics, the server may look through all that an owner has. The lists are sent in binary:
in text, the driver puts a backslash before each quote of a document, which takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, Table


def lists(names: Iterable[str], rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The columns of rows."""
    return {name: [row[name] for row in rows] for name in names}


@cache
def insertion(table: Table, one: str) -> tuple[str, tuple[str, ...]]:
    """Insert many rows as the statement `one` inserts one; with the names of its lists."""
    head, _, values = one.partition(" VALUES ")
    names = tuple(column.name for column in table.columns if f"%({column.name})s" in values)
    _, conflict, rest = values.partition(" ON CONFLICT ")
    unnested = ", ".join(f"%({name})b::{_type(table.c[name])}[]" for name in names)
    return f"{head} SELECT * FROM unnest({unnested}){conflict}{rest}", names  # noqa: S608 - names of our own


def _type(column: Column[Any]) -> str:
    kinds = {BigInteger: "bigint", Integer: "integer", LargeBinary: "bytea"}
    return next((name for kind, name in kinds.items() if isinstance(column.type, kind)), "text")
