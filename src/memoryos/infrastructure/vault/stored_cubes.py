"""Reading an owner's cubes over a SQL connection: the part of a session that readers and writers share.

Every statement carries the four owner columns, taken from the scope that the session was opened with. A row that is
not as it was written is left out and logged, so that one damaged memory does not stop an owner's others.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, or_, select
from sqlalchemy.sql.selectable import SelectBase

from memoryos.clock import Clock, from_micros
from memoryos.cube import MemCube
from memoryos.errors import CubeDamaged
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.vault import checksum, queries, tables
from memoryos.infrastructure.vault.beneath import Beneath, labels_beneath
from memoryos.infrastructure.vault.blob_part import BlobPart
from memoryos.infrastructure.vault.cold_part import ColdPart
from memoryos.infrastructure.vault.cube_documents import (
    damaged,
    earlier_cube,
    is_left_out,
    read_cube,
    read_passages,
)
from memoryos.infrastructure.vault.expiry_part import ExpiryPart
from memoryos.infrastructure.vault.ledger import Ledger
from memoryos.infrastructure.vault.legible import legible
from memoryos.infrastructure.vault.owner_part import OwnerPart
from memoryos.infrastructure.vault.queue import Queue
from memoryos.infrastructure.vault.records import (
    Census,
    CubeClass,
    Facet,
    KeptVersion,
    Link,
    LinkKind,
    StoredPassage,
    Vector,
)
from memoryos.infrastructure.vault.retention_part import RetentionPart
from memoryos.infrastructure.vault.selection import Positioned, Selection
from memoryos.infrastructure.vault.selection_part import SelectionPart
from memoryos.infrastructure.vault.statements import (
    ask,
    ask_one,
    chunks,
    stream,
)
from memoryos.infrastructure.vault.stored_events import StoredEvents
from memoryos.infrastructure.vault.tables import OWNER, owner_row
from memoryos.infrastructure.vault.version_part import StoredVersion, whole_documents
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.lifecycle import CubeMark, Transition
from memoryos.scope import Scope

_KINDS = {one.value: one for one in Kind}
_STATES, _TIERS = {one.value: one for one in State}, {one.value: one for one in Tier}


class StoredCubes(StoredEvents):
    """An owner's cubes with their links, passages and events, read over a connection."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        clock: Clock,
        packs: Packs,
        known_jobs: Collection[str] | None = None,
        dim: int | None = None,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._scope = scope.owner
        self._owner = owner_row(scope)
        self._ledger = Ledger(connection, self._owner)
        self._expiry = ExpiryPart(connection, self._owner, clock)
        self.retention = RetentionPart(connection, self._owner, self._ledger)
        self._packs, self._known_jobs, self._dim = packs, known_jobs, dim
        self.blobs = BlobPart(connection, self._owner)

    # The parts that few sessions need are made when they are asked for; they keep nothing.

    @property
    def _queue(self) -> Queue:
        return Queue(self._connection, self._owner, self._clock, self._known_jobs)

    @property
    def _everything(self) -> OwnerPart:
        return OwnerPart(self._connection, self._owner)

    @property
    def _cold(self) -> ColdPart:
        return ColdPart(self._connection, self._owner, self._packs)

    def permitted(self, ids: Iterable[str]) -> set[str]:
        return set(ids)

    def classes(self, ids: Iterable[str]) -> dict[str, list[CubeClass]]:
        found, beneath, wanted = dict[str, CubeClass](), list[Beneath](), list(ids)
        for cube_id, kind, labels, source in self._asked(queries.CLASSES, wanted):
            if kind is None:  # also asked for unknown ids, so that they take as long
                beneath.append((cube_id, labels, source))
            else:
                found[cube_id] = CubeClass(self._scope, kind, labels)
        is_file = self._connection.dialect.name == "sqlite"
        query = queries.LABELS_BENEATH if is_file else queries.LABELS_BENEATH_STEP_BY_STEP
        # Where nothing is beneath, it is asked all the same: each id takes two statements, whatever it is the id of.
        rests_on = labels_beneath(beneath, lambda tops: self._asked(query, tops or wanted[:1]))
        return {
            cube_id: [known._replace(page_labels=labels) for labels in rests_on.get(cube_id, (None,))]
            for cube_id, known in found.items()
        }

    def get(self, ids: Iterable[str]) -> dict[str, MemCube]:
        found = (self._readable(*row) for row in self._asked(queries.DOCUMENTS, ids))
        return {cube.id: cube for cube in found if cube}

    def one(self, cube_id: str) -> MemCube | None:
        return next((self._cube(*row) for row in self._asked(queries.DOCUMENTS, [cube_id])), None)

    def cubes(
        self,
        kind: Kind,
        *,
        tiers: Sequence[Tier] = (),
        states: Sequence[State] = (),
        marks: Sequence[CubeMark | None] = (),
        subject: Subject | None = None,
        first: int | None = None,
        last: int | None = None,
    ) -> list[MemCube]:
        limit = first if last is None else last
        query = queries.cubes(
            len(tiers),
            len(states),
            len(marks),
            has_subject=subject is not None,
            is_newest_first=last is not None,
            is_limited=limit is not None,
        )
        named = {f"tier_{index}": tier.value for index, tier in enumerate(tiers)}
        named |= {f"state_{index}": state.value for index, state in enumerate(states)}
        named |= {f"mark_{index}": mark.value if mark else queries.UNMARKED for index, mark in enumerate(marks)}
        wanted = {"kind": kind.value, "subject": subject and subject.value}
        found = self._first_readable(query, {**self._owner, **named, **wanted}, limit)
        return found if last is None else found[::-1]

    def _first_readable(
        self, query: Select[*tuple[Any, ...]], values: dict[str, Any], limit: int | None
    ) -> list[MemCube]:
        """The first readable cubes; damaged ones do not count."""
        asked = limit
        while True:
            cubes = [self._readable(*row) for row in ask(self._connection, query, {**values, "limit": asked})]
            found = [cube for cube in cubes if cube and cube.kind.value == values["kind"]]
            if asked is None or limit is None or len(cubes) < asked or len(found) >= limit:
                return found[:limit]
            asked += len(cubes) - len(found)

    def added(self, ids: Iterable[str]) -> set[str]:
        return {cube_id for (cube_id,) in self._asked(queries.ADDED, ids)}

    def kinds(self, ids: Iterable[str]) -> dict[str, Kind]:
        return {cube_id: self._kind(kind, cube_id) for cube_id, kind, _ in self._asked(queries.HEADS, ids)}

    def versions(self, ids: Iterable[str]) -> dict[str, int]:
        return {cube_id: self._version(told, cube_id) for cube_id, told in self._asked(queries.VERSIONS, ids)}

    def states(self, ids: Iterable[str]) -> dict[str, State]:
        return {cube_id: self._state(state, cube_id) for cube_id, state in self._asked(queries.STATES, ids)}

    def kept_versions(self, ids: Iterable[str]) -> list[KeptVersion]:
        return [KeptVersion(*row) for row in self._asked(queries.KEPT_VERSIONS, ids)]

    def vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        return {
            cube_id: np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)
            for cube_id, data, told in self._asked(queries.VECTORS, ids)
            if checksum.is_vector_sound(data, told, self._dim) or is_left_out("vector", cube_id)
        }

    def targets(self, sources: Iterable[str], kind: LinkKind) -> list[Link]:
        found = self._asked(queries.TARGETS, sources, kind=kind.value)
        return [Link(source, kind, target) for source, target in found]

    def sources(self, targets: Iterable[str], kind: LinkKind, *, merged: bool = False) -> list[Link]:
        query = queries.MERGED_SOURCES if merged else queries.SOURCES
        found = self._asked(query, targets, kind=kind.value)
        return [Link(source, kind, target) for source, target in found]

    def unread(self, segment: str) -> list[str]:
        rows = ask(self._connection, queries.UNREAD, {**self._owner, "segment": segment})
        return [page for (page,) in rows]

    def successions(self, ids: Iterable[str]) -> set[str]:
        is_file = self._connection.dialect.name == "sqlite"
        query = queries.SUCCESSIONS if is_file else queries.SUCCESSIONS_STEP_BY_STEP
        return {cube_id for (cube_id,) in self._asked(query, ids)}

    def _asked(self, query: SelectBase, ids: Iterable[str], **values: str) -> Iterator[Any]:
        """The rows that the query finds for these ids."""
        for chunk in chunks(ids):
            yield from ask(self._connection, query, {**self._owner, **values}, chunk)

    def passages(self, pages: Iterable[str] | None = None) -> Iterator[StoredPassage]:
        if pages is None:
            yield from read_passages(stream(self._connection, queries.PASSAGES, self._owner))
        else:
            yield from read_passages(self._asked(queries.PASSAGES_OF, pages))

    def facets(self, pages: Iterable[str]) -> dict[str, Facet]:
        return {page: Facet(*known) for page, *known in self._asked(queries.FACETS_OF, pages)}

    def beside(self, pages: Iterable[str]) -> set[str]:
        return {page for row in self._asked(queries.BESIDE, pages) for page in row if page is not None}

    def sequence(self) -> int:
        return ask_one(self._connection, queries.SEQUENCE, self._owner) or 0

    def history(self, cube_id: str) -> list[MemCube]:
        rows = ask(self._connection, queries.HISTORY, {**self._owner, "cube_id": cube_id})
        stored = [StoredVersion(cube_id, *row) for row in rows]
        if not all(isinstance(one.version, int) for one in stored):
            raise damaged(cube_id, "the number of a version of ")
        whole = whole_documents(stored)
        return [earlier_cube(one._replace(document=whole[one.version])) for one in stored]

    def transitions(self, cube_id: str) -> list[Transition]:
        with legible("events"):
            return [_transition(*row) for row in self._asked(queries.TRANSITIONS, [cube_id])]

    def census(self) -> Census:
        cubes = tables.cubes
        query = (
            select(cubes.c.kind, cubes.c.tier, func.count())
            .where(self._owned(cubes))
            .group_by(cubes.c.kind, cubes.c.tier)
        )
        found = self._connection.execute(query).all()
        counts = {
            (_KINDS[kind], _TIERS[tier]): count for kind, tier, count in found if kind in _KINDS and tier in _TIERS
        }
        if len(counts) < len(found):
            self._log_classless()
        return Census(counts)

    def listed(
        self, wanted: Selection, *, after: int = 0, limit: int | None = None, is_latest: bool = False
    ) -> list[Positioned]:
        return SelectionPart(self._connection, self._owner, self._readable).listed(
            wanted, after, limit, is_latest=is_latest
        )

    def counted(self, wanted: Selection) -> int:
        return SelectionPart(self._connection, self._owner, self._readable).counted(wanted)

    def _readable(self, cube_id: str, stored: str, told: int | None) -> MemCube | None:
        """The cube; None if it is damaged."""
        try:
            return self._cube(cube_id, stored, told)
        except CubeDamaged:
            is_left_out("memory", cube_id)
            return None

    def _kind(self, told: str, cube_id: str) -> Kind:
        return _KINDS.get(told) or self._document(cube_id).kind

    def _state(self, told: str, cube_id: str) -> State:
        return _STATES.get(told) or self._document(cube_id).state

    def _version(self, told: Any, cube_id: str) -> int:
        return told if isinstance(told, int) else self._document(cube_id).version.number

    def _document(self, cube_id: str) -> MemCube:
        """What a cube is whose columns are damaged, which are made from it. Raises CubeDamaged if it is, too."""
        is_left_out("a column of memory", cube_id)
        (row,) = self._asked(queries.DOCUMENTS, [cube_id])
        return self._cube(*row)

    def _log_classless(self) -> None:
        """Log the cubes whose columns tell no kind or no tier: no listing has them, and no count."""
        cubes = tables.cubes
        classless = or_(cubes.c.kind.not_in(_KINDS), cubes.c.tier.not_in(_TIERS))
        for (cube_id,) in self._connection.execute(select(cubes.c.id).where(self._owned(cubes), classless)):
            is_left_out("memory", cube_id)

    def _cube(self, cube_id: str, stored: str, told: int | None) -> MemCube:
        return read_cube(self._packs, cube_id, stored, told)

    def _owned(self, table: Table) -> ColumnElement[bool]:
        return and_(*(table.c[name] == self._owner[name] for name in OWNER))


def _transition(at: int, detail: str) -> Transition:
    told = json.loads(detail)
    return Transition(from_micros(at), State(told["before"]), State(told["after"]), told["by"], told["cause"])
