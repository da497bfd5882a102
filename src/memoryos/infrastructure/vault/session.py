"""Readers and writers over a SQL connection: the part of a back end that every SQL database shares.

Every statement carries the four owner columns, taken from the scope that the session was opened with. A row that is
not as it was written is left out and logged, so that one damaged memory does not stop an owner's others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Select, Table, and_, delete, func, select

from memoryos.clock import Clock, from_micros, micros
from memoryos.cube import MemCube
from memoryos.errors import CubeDamaged, StorageError, StoreCorrupt
from memoryos.infrastructure.cold.pack import Pack
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.vault import checksum, queries, tables
from memoryos.infrastructure.vault.blob_part import BlobPart
from memoryos.infrastructure.vault.cold_part import ColdPart, packs_of
from memoryos.infrastructure.vault.documents import (
    is_left_out,
    parse_document,
    passage_rows,
    read_cube,
    read_passages,
    vector_row,
    version_row,
)
from memoryos.infrastructure.vault.ledger import Ledger
from memoryos.infrastructure.vault.owner_part import OwnerPart
from memoryos.infrastructure.vault.queue import Queue, WantedJob
from memoryos.infrastructure.vault.records import (
    Archived,
    AskedJob,
    Census,
    CubePlace,
    Entry,
    Event,
    Facet,
    Job,
    JobKind,
    JobState,
    Link,
    LinkKind,
    Operation,
    Spending,
    StoredPassage,
    Vector,
)
from memoryos.infrastructure.vault.selection import Positioned, Selection
from memoryos.infrastructure.vault.selection_part import SelectionPart
from memoryos.infrastructure.vault.statements import (
    ask,
    ask_one,
    delete_links,
    insert_links,
    insert_rows,
    next_position,
    stream,
    update_cubes,
)
from memoryos.infrastructure.vault.tables import OWNER, owner_row
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.lifecycle import CubeMark
from memoryos.scope import Scope

_OPERATIONS, _KINDS = {one.value: one for one in Operation}, {one.value: one for one in Kind}
GRACE = timedelta(minutes=5)  # that a pack whose documents came back stays, for sessions that began before
IDS_PER_STATEMENT = 5_000  # SQLite allows 32,766 parameters in a statement


class SqlReader:
    """`contract.Reader` over a connection."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        clock: Clock,
        packs: Packs,
        known_jobs: Collection[str] | None = None,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._scope = scope.owner
        self._owner = owner_row(scope)
        self._ledger = Ledger(connection, self._owner)
        self._queue = Queue(connection, self._owner, clock, known_jobs)
        self._everything = OwnerPart(connection, self._owner)
        self._packs = packs
        self._cold = ColdPart(connection, self._owner, packs)
        self.blobs = BlobPart(connection, self._owner)

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
        """The first cubes that can be read; a damaged one takes nobody's place."""
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
        with _legible("cubes"):
            return {cube_id: Kind(kind) for cube_id, kind, _ in self._asked(queries.HEADS, ids)}

    def versions(self, ids: Iterable[str]) -> dict[str, int]:
        return dict(self._asked(queries.VERSIONS, ids))

    def vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        return {
            cube_id: np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)
            for cube_id, data, told in self._asked(queries.VECTORS, ids)
            if checksum.is_vector_sound(data, told) or is_left_out("vector", cube_id)
        }

    def targets(self, sources: Iterable[str], kind: LinkKind) -> list[Link]:
        found = self._asked(queries.TARGETS, sources, kind=kind.value)
        return [Link(source, kind, target) for source, target in found]

    def sources(self, targets: Iterable[str], kind: LinkKind) -> list[Link]:
        found = self._asked(queries.SOURCES, targets, kind=kind.value)
        return [Link(source, kind, target) for source, target in found]

    def unread(self, segment: str) -> list[str]:
        rows = ask(self._connection, queries.UNREAD, {**self._owner, "segment": segment})
        return [page for (page,) in rows]

    def successions(self, ids: Iterable[str]) -> set[str]:
        is_file = self._connection.dialect.name == "sqlite"
        query = queries.SUCCESSIONS if is_file else queries.SUCCESSIONS_STEP_BY_STEP
        return {cube_id for (cube_id,) in self._asked(query, ids)}

    def _asked(self, query: Select[*tuple[Any, ...]], ids: Iterable[str], **values: str) -> Iterator[Any]:
        """The rows that the query finds for these ids."""
        for chunk in _chunks(ids):
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
        return [parse_document(cube_id, document, told, f"version {version} of ") for version, document, told in rows]

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        rows = ask(self._connection, queries.EVENTS, {**self._owner, "after": after, "limit": limit})
        with _legible("events"):
            return [
                Event(sequence, from_micros(at), _OPERATIONS[operation], _KINDS[kind], cube_id, version, detail)
                for sequence, at, operation, kind, cube_id, version, detail in rows
            ]

    def jobs(self, *states: JobState) -> list[Job]:
        with _legible("jobs"):
            return self._queue.jobs(states)

    def asked(self) -> list[AskedJob]:
        with _legible("jobs"):
            return self._queue.asked()

    def next_due(self) -> datetime | None:
        with _legible("jobs"):
            return self._queue.next_due()

    def cold(self, ids: Iterable[str]) -> dict[str, str]:
        return packs_of(self._asked(queries.REFERENCES, ids))

    def archived(self, *, after: int = 0, limit: int = 1000) -> list[Archived]:
        return self._cold.archived(after, limit)

    def packs(self) -> dict[str, datetime | None]:
        return self._cold.packs()

    def census(self) -> Census:
        cubes = tables.cubes
        query = (
            select(cubes.c.kind, cubes.c.tier, func.count())
            .where(self._owned(cubes))
            .group_by(cubes.c.kind, cubes.c.tier)
        )
        with _legible("cubes"):
            return Census({(Kind(kind), Tier(tier)): count for kind, tier, count in self._connection.execute(query)})

    def listed(self, wanted: Selection, *, after: int = 0, limit: int | None = None) -> list[Positioned]:
        return SelectionPart(self._connection, self._owner, self._readable).listed(wanted, after, limit)

    def counted(self, wanted: Selection) -> int:
        return SelectionPart(self._connection, self._owner, self._readable).counted(wanted)

    def placed(self, *, after: int = 0, limit: int = 1000, session: str | None = None) -> list[CubePlace]:
        with _legible("cubes"):
            return self._everything.placed(after, limit, session)

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        with _legible("links"):
            return self._everything.links_of(ids)

    def remains(self) -> dict[str, int]:
        return self._everything.remains()

    def note(self, key: str) -> str | None:
        return self._ledger.note(key)

    def spending(self, *, since: date | None = None) -> list[Spending]:
        with _legible("usage"):
            return self._ledger.spending(since)

    def _readable(self, cube_id: str, stored: str, told: int | None) -> MemCube | None:
        """The cube; None when it is damaged."""
        try:
            return self._cube(cube_id, stored, told)
        except CubeDamaged:
            is_left_out("memory", cube_id)
            return None

    def _cube(self, cube_id: str, stored: str, told: int | None) -> MemCube:
        return read_cube(self._packs, cube_id, stored, told)

    def _owned(self, table: Table) -> ColumnElement[bool]:
        return and_(*(table.c[name] == self._owner[name] for name in OWNER))


class SqlWriter(SqlReader):
    """`contract.Writer` over a connection inside a transaction."""

    has_removed_words = False  # of a page
    has_erased = False  # a cube, of whatever kind

    def insert(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        self._check_scope(entries)
        first = next_position(self._connection, self._owner)
        rows = [{**row, "position": first + index} for index, row in enumerate(_rows(entries))]
        insert_rows(self._connection, tables.cubes, rows)
        self.blobs.refer((entry.cube for entry in entries), self._clock())
        self._index(entries)
        self._log((entry.cube for entry in entries), Operation.ADD)

    def update(self, entries: Sequence[Entry], operation: Operation, *, detail: str | None = None) -> None:
        if not entries:
            return
        self._check_scope(entries)
        self._bring_back(entry.cube.id for entry in entries)
        if operation is Operation.REVISE:
            self._keep_versions([entry.cube.id for entry in entries])
        changed = update_cubes(self._connection, _rows(entries))
        if changed != len(entries):
            self._check_owned(entry.cube.id for entry in entries)
        self.has_removed_words |= any(entry.passages is not None for entry in entries)
        self.blobs.refer((entry.cube for entry in entries), self._clock())
        self._unindex(entries)
        self._index(entries)
        self._log((entry.cube for entry in entries), operation, detail)

    def delete(self, ids: Sequence[str]) -> None:
        self._bring_back(ids)
        self.discard(ids)

    def discard(self, ids: Sequence[str]) -> None:
        doomed = list(self._asked(queries.HEADS, ids))  # without the documents, which may be damaged
        self.has_removed_words |= any(kind == Kind.PAGE.value for _, kind, _ in doomed)
        self.has_erased |= bool(doomed)
        for chunk in _chunks(cube_id for cube_id, _, _ in doomed):
            removal = partial(self._connection.execute, queries.REMOVAL, {**self._owner, "ids": chunk})
            self.blobs.let_go(chunk, removal)
        if self.blobs.has_let_go:  # the bytes go when this is committed; if that fails, a little later
            self.enqueue(JobKind.SWEEP, not_before=self._clock() + GRACE)
        self._log_rows(doomed, Operation.DELETE)

    def link(self, links: Sequence[Link]) -> None:
        if links:
            self._check_owned(link.source for link in links)
            # Only a repeated link is ignored; a second segment for a page still fails.
            insert_links(self._connection, self._scope.tenant, links)

    def unlink(self, links: Sequence[Link]) -> None:
        if links:
            self._check_owned(link.source for link in links)
            delete_links(self._connection, self._scope.tenant, links)

    def enqueue(
        self,
        kind: str,
        cube_ids: Iterable[str | None] = (None,),
        *,
        payload: Mapping[str, Any] | None = None,
        priority: int = 0,
        not_before: datetime | None = None,
    ) -> list[str]:
        wanted = list(cube_ids)
        self._check_owned(one for one in wanted if one is not None)
        return self._queue.enqueue(WantedJob(kind, payload, priority, not_before), wanted) if wanted else []

    def drop_jobs(self) -> int:
        return self._queue.drop_all()

    def lease(self, *, lasting: timedelta, limit: int = 1, early: Collection[str] = ()) -> list[Job]:
        return self._queue.lease(lasting=lasting, limit=limit, early=early)

    def release(self, job: Job) -> None:
        self._queue.release(job)

    def extend(self, job: Job, *, lasting: timedelta) -> None:
        self._queue.extend(job, lasting=lasting)

    def finish(self, job: Job) -> None:
        self._queue.finish(job)

    def fail(self, job: Job, error: str, *, retry_at: datetime | None) -> None:
        self._queue.fail(job, error, retry_at=retry_at)

    def retry(self, job_ids: Sequence[str]) -> int:
        return self._queue.retry(job_ids)

    def begin_pack(self, name: str, *, remove_at: datetime) -> None:
        self._cold.note(name, remove_at)

    def cool(self, pack: Pack) -> bool:
        cubes = self.get(pack.documents).values()
        if not self._cold.are_as_packed(pack) or not self._cold.put_in_use(pack.name, self._clock()):
            self._cold.give_up(pack.name, self._clock())
            return False
        self._cold.swap(pack.documents, pack.name, out=True)
        self._log(cubes, Operation.COOL)
        return True

    def warm(self, name: str) -> None:
        documents = self._cold.read(name).documents
        back = self._cold.swap(documents, name, out=False)
        self._cold.give_up(name, self._clock() + GRACE)
        self._log(self.get(back).values(), Operation.WARM)

    def claim_packs(self) -> list[str]:
        return self._cold.claim(self._clock())

    def forget_packs(self, names: Iterable[str]) -> None:
        self._cold.forget(names)

    def _bring_back(self, ids: Iterable[str]) -> None:
        """Bring the packs back that cubes lie in which are to be changed or deleted.

        Without an object store nobody could have read a cold one, to change it.
        """
        if not self._packs.are_kept:
            return
        for name in sorted(set(self.cold(ids).values())):
            self.warm(name)

    def purge(self, limit: int) -> int:
        self._everything.give_up(self._cold, self._clock())
        self.has_erased = True
        return self._everything.purge(limit)

    def keep_versions(self, earlier: Sequence[MemCube]) -> None:
        self._check_owned(cube.id for cube in earlier)
        insert_rows(self._connection, tables.versions, [version_row(cube) for cube in earlier])

    def write_note(self, key: str, value: str | None) -> None:
        self._ledger.write_note(key, value)

    def spend(self, spending: Spending) -> None:
        self._ledger.spend(spending)

    def spent_by_all(self, day: date) -> tuple[int, int]:
        return self._ledger.spent_by_all(day)

    def _index(self, entries: Sequence[Entry]) -> None:
        vectors = [vector_row(entry) for entry in entries if entry.vector is not None]
        insert_rows(self._connection, tables.vectors, vectors)
        insert_rows(self._connection, tables.passages, [row for entry in entries for row in passage_rows(entry)])

    def _unindex(self, entries: Sequence[Entry]) -> None:
        """Make room for what the entries bring along; what has passages needs no vector of its own."""
        passages = [entry.cube.id for entry in entries if entry.passages is not None]
        self._drop(tables.vectors, [*passages, *(entry.cube.id for entry in entries if entry.vector is not None)])
        self._drop(tables.passages, passages)

    def _drop(self, stored: Table, ids: Sequence[str]) -> None:
        for chunk in _chunks(ids):
            self._connection.execute(
                delete(stored).where(stored.c.tenant == self._scope.tenant, stored.c.cube_id.in_(chunk))
            )

    def _keep_versions(self, ids: Sequence[str]) -> None:
        insert_rows(self._connection, tables.versions, [version_row(cube) for cube in self.get(ids).values()])

    def _log(self, changed: Iterable[MemCube], operation: Operation, detail: str | None = None) -> None:
        self._log_rows(((cube.id, cube.kind.value, cube.version.number) for cube in changed), operation, detail)

    def _log_rows(
        self, changed: Iterable[tuple[str, str, int]], operation: Operation, detail: str | None = None
    ) -> None:
        """Log what was done to cubes, each by its id, kind and version."""
        at = micros(self._clock())
        rows = [
            {
                **self._owner,
                "at": at,
                "operation": operation.value,
                "kind": kind,
                "cube_id": cube_id,
                "version": version,
                "detail": detail,
            }
            for cube_id, kind, version in changed
        ]
        insert_rows(self._connection, tables.events, rows)

    def _check_owned(self, ids: Iterable[str]) -> None:
        """A link belongs to the owner of its source, a job to that of its cube; the other end may be shared."""
        wanted = set(ids)
        if foreign := wanted.difference(cube_id for (cube_id,) in self._asked(queries.PRESENT, wanted)):
            raise StorageError(f"cube {min(foreign)} is not in this scope; nothing was written")

    def _check_scope(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            if entry.cube.scope.owner != self._scope:
                raise StorageError(f"cube {entry.cube.id} belongs to another scope; nothing was written")


def _rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [tables.cube_row(entry.cube, entry.document) for entry in entries]


@contextmanager
def _legible(table: str) -> Iterator[None]:
    """Say of a row that holds what no program wrote there that it is damaged; what it holds is not told."""
    try:
        yield
    except (LookupError, ValueError, TypeError, OverflowError):
        raise StoreCorrupt(f"a row of {table} is damaged: run `memoryos verify`, or restore from a backup") from None


def _chunks(ids: Iterable[str]) -> Iterator[list[str]]:
    distinct = list(dict.fromkeys(ids))
    for start in range(0, len(distinct), IDS_PER_STATEMENT):
        yield distinct[start : start + IDS_PER_STATEMENT]
