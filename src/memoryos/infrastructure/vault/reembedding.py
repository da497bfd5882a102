"""The change of a whole store to another embedder, in portable SQL: `contract.Reembedding` over a connection.

The new vectors are in `next_vectors` until they are complete; one transaction then replaces the old ones.
Of each cube that table has part 0, the vector of the whole, and of a page the parts of its passages. What is missing
is found by comparison with the cubes, so nothing that was written meanwhile can be overlooked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)

from memoryos.clock import Clock
from memoryos.cube import MemCube
from memoryos.errors import StorageError
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.cube_documents import read_cube
from memoryos.infrastructure.vault.queries import WHOLE_CUBE, same_cube
from memoryos.infrastructure.vault.records import LinkKind, NewVectors, StoredPassage, Unembedded, Vector
from memoryos.infrastructure.vault.session import SqlReader
from memoryos.infrastructure.vault.statements import insert_rows
from memoryos.kinds import Kind

EMBEDDER = "embedder"  # the key in `meta` of the embedder that made the vectors in use
NEXT_EMBEDDER = "next_embedder"  # and of the one that makes those in `next_vectors`

_A_FEW_AT_A_TIME = {"yield_per": 2_000}  # rows held at once while vectors are averaged

_cubes, _links, _meta, _next = tables.cubes, tables.links, tables.meta, tables.next_vectors
_passages, _vectors = tables.passages, tables.vectors


class SqlReembedding:
    """`contract.Reembedding` over a connection inside a write transaction."""

    def __init__(self, connection: Connection, embedder: str, clock: Clock, packs: Packs) -> None:
        self._connection = connection
        self._embedder = embedder
        self._clock = clock
        self._packs = packs

    def begin(self) -> bool:
        """Start the change to our embedder; False while vectors of another one must be removed first."""
        if self._noted(NEXT_EMBEDDER) == self._embedder:
            return True
        self._note(NEXT_EMBEDDER, None)
        if self._connection.execute(select(_next.c.part).limit(1)).first():
            return False
        if self._noted(EMBEDDER) != self._embedder:
            self._note(NEXT_EMBEDDER, self._embedder)
        return True

    def is_done(self) -> bool:
        """Whether the vectors in use are ours."""
        return self._noted(EMBEDDER) == self._embedder

    def tally(self) -> tuple[int, int]:
        """How many cubes have their new vectors, and how many there are that need some."""
        ready = select(func.count()).where(_next.c.part == WHOLE_CUBE)
        needed = select(func.count()).where(_cubes.c.kind.in_([Kind.PAGE.value, Kind.FACT.value]))
        return self._connection.scalar(ready) or 0, self._connection.scalar(needed) or 0

    def pending(self, *, after: tuple[str, str], limit: int) -> list[Unembedded]:
        """Cubes without their new vectors, by tenant and id."""
        key = tuple_(_cubes.c.tenant, _cubes.c.id)
        query = (
            select(_cubes.c.id, _cubes.c.document, _cubes.c.checksum)
            .outerjoin(_next, and_(_of_cube(_next), _next.c.part == WHOLE_CUBE))
            .where(key > tuple_(*after), _is_embedded(), or_(_is_stale(), _lacks_a_passage()))
            .order_by(_cubes.c.tenant, _cubes.c.id)
            .limit(limit)
        )
        found = [read_cube(self._packs, *row) for row in self._connection.execute(query)]
        said = self._passages_of(found)
        return [Unembedded(cube, said.get((cube.scope.tenant, cube.id), [])) for cube in found]

    def stage(self, vectors: Sequence[NewVectors]) -> None:
        """Stage new vectors, replacing earlier ones; those of deleted cubes are dropped."""
        if self._noted(NEXT_EMBEDDER) != self._embedder:
            raise StorageError("the store changes to another embedder; nothing was written")
        keys = [_key(one.cube) for one in vectors]
        self._connection.execute(delete(_next).where(tuple_(_next.c.tenant, _next.c.cube_id).in_(keys)))
        query = select(_cubes.c.tenant, _cubes.c.id).where(tuple_(_cubes.c.tenant, _cubes.c.id).in_(keys))
        present = {tuple(row) for row in self._connection.execute(query)}
        insert_rows(
            self._connection, _next, [row for one in vectors if _key(one.cube) in present for row in _rows(one)]
        )

    def switch(self) -> None:
        """Replace the old vectors by the new ones, and make ours the store's embedder."""
        said = and_(*(_next.c[name] == _passages.c[name] for name in ("tenant", "cube_id", "part")))
        self._connection.execute(update(_passages).values(vector=_data_where(said)))
        whole = and_(*(_next.c[name] == _vectors.c[name] for name in ("tenant", "cube_id", "part")))
        self._connection.execute(update(_vectors).where(exists().where(whole)).values(data=_data_where(whole)))
        self._move_centroids()
        self._note(EMBEDDER, self._embedder)
        self._note(NEXT_EMBEDDER, None)

    def sweep(self, limit: int) -> bool:
        """Remove up to that many unneeded staged vectors; return whether there were any."""
        if self._noted(NEXT_EMBEDDER) is not None:
            return False
        keys = self._connection.execute(select(*_next.primary_key).limit(limit)).all()
        if keys:
            self._connection.execute(delete(_next).where(tuple_(*_next.primary_key).in_([tuple(key) for key in keys])))
        return bool(keys)

    def _passages_of(self, cubes: Sequence[MemCube]) -> dict[tuple[str, str], list[StoredPassage]]:
        found: dict[tuple[str, str], list[StoredPassage]] = {}
        pages = sorted((cube for cube in cubes if cube.kind is Kind.PAGE), key=lambda cube: str(cube.scope.owner))
        for owner, own in groupby(pages, key=lambda cube: cube.scope.owner):
            for passage in SqlReader(self._connection, owner, self._clock, self._packs).passages(
                cube.id for cube in own
            ):
                if passage.part:
                    found.setdefault((owner.tenant, passage.page), []).append(passage)
        return found

    def _move_centroids(self) -> None:
        mine = (
            _vectors.c.tenant == bindparam("of"),
            _vectors.c.cube_id == bindparam("segment"),
            _vectors.c.part == WHOLE_CUBE,
        )
        if found := list(self._centroids()):
            self._connection.execute(update(_vectors).where(*mine).values(data=bindparam("centroid")), found)

    def _centroids(self) -> Iterator[dict[str, Any]]:
        """The segments that have pages, each with the mean of its pages' vectors."""
        pages = and_(_next.c.tenant == _links.c.tenant, _next.c.cube_id == _links.c.source, _next.c.part == WHOLE_CUBE)
        query = (
            select(_links.c.tenant, _links.c.target, _next.c.data)
            .join(_next, pages)
            .where(_links.c.kind == LinkKind.MEMBER_OF.value)
            .order_by(_links.c.tenant, _links.c.target, _links.c.source)
        )
        rows = self._connection.execute(query, execution_options=_A_FEW_AT_A_TIME)
        for (tenant, segment), members in groupby(rows, key=lambda row: (row[0], row[1])):
            vectors = np.stack([np.frombuffer(data, "<f4") for _, _, data in members])
            yield {"of": tenant, "segment": segment, "centroid": _bytes(vectors.mean(axis=0, dtype=np.float32), "<f4")}

    def _noted(self, key: str) -> str | None:
        value: str | None = self._connection.scalar(select(_meta.c.value).where(_meta.c.key == key))
        return value

    def _note(self, key: str, value: str | None) -> None:
        self._connection.execute(delete(_meta).where(_meta.c.key == key))
        if value is not None:
            self._connection.execute(_meta.insert(), {"key": key, "value": value})


def _of_cube(table: Table) -> ColumnElement[bool]:
    return same_cube(table.c.cube_id)


def _is_embedded() -> ColumnElement[bool]:
    """Whether the vectors of a cube come from its own words; a segment has the mean of its pages."""
    has_vector = exists().where(_of_cube(_vectors))
    member = and_(_links.c.tenant == _cubes.c.tenant, _links.c.target == _cubes.c.id)
    has_members = exists().where(member, _links.c.kind == LinkKind.MEMBER_OF.value)
    return or_(_cubes.c.kind == Kind.PAGE.value, and_(has_vector, ~has_members))


def _is_stale() -> ColumnElement[bool]:
    """Whether the new vectors are not there, or of other words: a cube with new words has a new version."""
    return or_(_next.c.version.is_(None), _next.c.version != _cubes.c.version)


def _lacks_a_passage() -> ColumnElement[bool]:
    """Whether a passage was made after the new vectors: by a search, of a page that an older program had stored."""
    made = _next.alias("made")
    ready = exists().where(
        made.c.tenant == _passages.c.tenant, made.c.cube_id == _passages.c.cube_id, made.c.part == _passages.c.part
    )
    return exists().where(_of_cube(_passages), ~ready)


def _data_where(condition: ColumnElement[bool]) -> Any:
    return select(_next.c.data).where(condition).scalar_subquery()


def _key(cube: MemCube) -> tuple[str, str]:
    return cube.scope.tenant, cube.id


def _rows(one: NewVectors) -> Iterator[dict[str, Any]]:
    tenant, cube_id = _key(one.cube)
    row = {"tenant": tenant, "cube_id": cube_id, "version": one.cube.version.number}
    yield {**row, "part": WHOLE_CUBE, "data": _bytes(one.whole, "<f4")}
    for part, vector in enumerate(one.passages, 1):
        yield {**row, "part": part, "data": _bytes(vector, "<f2")}


def _bytes(vector: Vector, kind: str) -> bytes:
    return np.asarray(vector, dtype=kind).tobytes()
