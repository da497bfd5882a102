"""RemovalPart: the part of a session that removes cubes a few rows at a time.

A cube that goes takes all rows with it that refer to it. Where these are more than one transaction may remove, some go
first, and the cube itself with the last of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, Connection, Select, Table, bindparam, literal_column, select

from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.statements import ask, chunks, delete_rows
from memoryos.infrastructure.vault.text_size import TextSize, stored_size

_cubes, _links, _versions = tables.cubes, tables.links, tables.versions


def _rows_of(cube: Column[str], size: ColumnElement[int] | None = None) -> Select[Any]:
    """The keys of some rows that belong to cubes, each with the size of its document, if it has one."""
    table = cube.table
    size = literal_column("0") if size is None else size
    mine = (table.c.tenant == bindparam("tenant"), cube.in_(bindparam("ids", expanding=True)))
    return select(*table.primary_key, size).where(*mine).limit(bindparam("limit"))


_BELONGINGS = (  # whatever may be many
    # The oldest first: an older version is a difference to the next one, and would be damaged without it.
    (_versions, _rows_of(_versions.c.cube_id, stored_size(_versions)).order_by(*_versions.primary_key)),
    (tables.passages, _rows_of(tables.passages.c.cube_id)),
    (tables.next_vectors, _rows_of(tables.next_vectors.c.cube_id)),
    (_links, _rows_of(_links.c.source)),
    (_links, _rows_of(_links.c.target)),
)

_FEWER = 8  # times, if what belongs to cubes is too much

_DOCUMENTS = _rows_of(_cubes.c.id, TextSize(_cubes.c.document))


class RemovalPart:
    """The cubes of one tenant that a transaction removes, no more than so many rows and characters of documents."""

    def __init__(self, connection: Connection, tenant: str, rows: int, characters: int) -> None:
        self._connection = connection
        self._tenant = tenant
        self._rows = rows
        self._characters = characters

    def strip(self, ids: Sequence[str]) -> list[str]:
        """Return cubes that fit with all that belongs to them; if none does, the first one loses some of that."""
        belonging, fitting = self._weighed(ids)
        if fitting or not ids:  # the database removes what belongs to a cube with it, which is faster
            return fitting
        if len(ids) > 1:
            return self.strip(ids[: max(1, len(ids) // _FEWER)])
        for table, keys in belonging:
            names = table.primary_key.columns.keys()
            delete_rows(self._connection, table, [dict(zip(names, key, strict=True)) for key in keys])
        return []

    def _weighed(self, ids: Sequence[str]) -> tuple[list[tuple[Table, list[Sequence[Any]]]], list[str]]:
        """The keys of rows that belong to the cubes, and the cubes themselves, as many as may go."""
        left = _Left(self._rows, self._characters)
        belonging = [(table, list(self._fitting(left, query, ids))) for table, query in _BELONGINGS]
        return belonging, [cube_id for _, cube_id in self._fitting(left, _DOCUMENTS, ids)]

    def _fitting(self, left: _Left, query: Select[Any], ids: Sequence[str]) -> Iterator[Sequence[Any]]:
        """The keys of the rows that may still go. After the first one that may not, none may."""
        for chunk in chunks(ids):
            for *key, size in ask(self._connection, query, {"tenant": self._tenant, "limit": left.limit}, chunk):
                if not left.takes(size):
                    return
                yield key


@dataclass
class _Left:
    """What may still be removed: whatever its size, one row, so that each transaction gets further."""

    rows: int
    characters: int
    has_taken: bool = False
    is_used_up: bool = False

    @property
    def limit(self) -> int:
        """How many rows to ask for: one more than may go, which uses it up."""
        return 0 if self.is_used_up else max(self.rows, 0) + 1

    def takes(self, size: int) -> bool:
        """Whether a row of that size may go; if so, less is left."""
        self.is_used_up |= self.has_taken and (self.rows < 1 or self.characters < size)
        if self.is_used_up:
            return False
        self.rows, self.characters, self.has_taken = self.rows - 1, self.characters - size, True
        return True
