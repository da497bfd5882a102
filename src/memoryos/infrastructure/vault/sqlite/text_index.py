"""Full-text search on SQLite: FTS5 over terms that were analysed above the vault.

The terms arrive stemmed and segmented, so FTS5 only has to keep them apart and count them. It ranks
with BM25 whose document frequencies are those of the whole file; results are filtered by owner
inside the statement, never after the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    ForeignKeyConstraint,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    and_,
    column,
    delete,
    func,
    insert,
    literal_column,
    select,
    table,
    text,
)

from memoryos.infrastructure.vault import tables

texts = Table(  # which row of the FTS5 table belongs to which cube
    "texts",
    tables.metadata,
    Column("docid", Integer, primary_key=True),
    Column("tenant", Text, nullable=False),
    Column("cube_id", Text, nullable=False),
    UniqueConstraint("tenant", "cube_id"),
    ForeignKeyConstraint(["tenant", "cube_id"], ["cubes.tenant", "cubes.id"], ondelete="CASCADE"),
)

_INSERT = text("INSERT INTO text_terms (rowid, terms) VALUES (:docid, :terms)")
_OPTIMIZE = text("INSERT INTO text_terms (text_terms) VALUES ('optimize')")
_DELETE = text("DELETE FROM text_terms WHERE rowid = :docid")

_terms = table("text_terms", column("rowid", Integer), column("terms", Text))  # FTS5: known to SQL, not to the metadata


class Fts5:
    """`session.TextIndex` on SQLite, within one tenant."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    def add(self, rows: Sequence[tuple[str, Sequence[str]]]) -> None:
        """Index the terms of some cubes, in place of those indexed before."""
        self.remove([cube_id for cube_id, _ in rows])
        keys = [{"tenant": self._tenant, "cube_id": cube_id} for cube_id, _ in rows]
        self._connection.execute(insert(texts), keys)
        docids = self._docids([cube_id for cube_id, _ in rows])
        self._connection.execute(
            _INSERT, [{"docid": docids[cube_id], "terms": " ".join(terms)} for cube_id, terms in rows]
        )

    def remove(self, ids: Sequence[str]) -> None:
        """Forget some cubes."""
        doomed: list[dict[str, Any]] = [{"docid": docid} for docid in self._docids(ids).values()]
        if doomed:
            self._connection.execute(_DELETE, doomed)
            self._connection.execute(delete(texts).where(texts.c.docid.in_([row["docid"] for row in doomed])))

    def purge(self) -> None:
        """Merge the index into one segment: FTS5 only marks what was removed, until it is merged away."""
        self._connection.execute(_OPTIMIZE)

    def find(self, terms: Sequence[str], matching: ColumnElement[bool], limit: int) -> dict[str, float]:
        """Cubes that match, with their BM25 score, best first."""
        # A term is a quoted FTS5 string: whatever the user typed, it is never query syntax.
        query = " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)
        rank = func.bm25(literal_column("text_terms")).label("rank")
        joined = _terms.join(texts, texts.c.docid == _terms.c.rowid).join(
            tables.cubes, and_(tables.cubes.c.tenant == texts.c.tenant, tables.cubes.c.id == texts.c.cube_id)
        )
        statement = (
            select(texts.c.cube_id, rank)
            .select_from(joined)
            .where(literal_column("text_terms").op("MATCH")(query), matching)
            .order_by(rank)
            .limit(limit)
        )
        found = self._connection.execute(statement)
        return {cube_id: -score for cube_id, score in found}  # FTS5 gives smaller for better

    def _docids(self, ids: Sequence[str]) -> dict[str, int]:
        query = select(texts.c.cube_id, texts.c.docid).where(texts.c.tenant == self._tenant, texts.c.cube_id.in_(ids))
        return {cube_id: docid for cube_id, docid in self._connection.execute(query)}  # noqa: C416 - a Row is no plain tuple to mypy
