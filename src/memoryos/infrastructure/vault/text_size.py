"""TextSize: how large a stored text is, in SQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Integer, Table, func
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class TextSize(FunctionElement[int]):
    """The size of a text: in characters on SQLite, in bytes on PostgreSQL, which need not read it for that."""

    inherit_cache = True
    type = Integer()


def stored_size(versions: Table) -> ColumnElement[int]:
    """The size of an earlier version: of its document, or of the difference that stands for it."""
    return TextSize(versions.c.document) + func.coalesce(TextSize(versions.c.packed), 0)


@compiles(TextSize)
def _octets(size: TextSize, compiler: SQLCompiler, **options: Any) -> str:
    return f"octet_length({compiler.process(size.clauses, **options)})"


@compiles(TextSize, "sqlite")
def _characters(size: TextSize, compiler: SQLCompiler, **options: Any) -> str:
    return f"length({compiler.process(size.clauses, **options)})"
