"""Readers and writers over a SQL connection: the part of a back end that every SQL database shares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, update

from memoryos.caller import View, acting_caller
from memoryos.clock import from_micros, micros
from memoryos.cube import MemCube
from memoryos.errors import StorageError, StoreCorrupt
from memoryos.infrastructure.cold.pack import Pack
from memoryos.infrastructure.vault import guard, queries, tables
from memoryos.infrastructure.vault.absorption import GONE, orphans
from memoryos.infrastructure.vault.audit_entry import AuditedCube
from memoryos.infrastructure.vault.authors import Author, authored, read_author
from memoryos.infrastructure.vault.built_cubes import OVER, TRAIN_AFTER, Built, built_from, outdated
from memoryos.infrastructure.vault.cold_part import packs_of
from memoryos.infrastructure.vault.cube_documents import vector_row, version_row
from memoryos.infrastructure.vault.labelling import Standing, label_details, read_label_changes
from memoryos.infrastructure.vault.legible import legible
from memoryos.infrastructure.vault.queue import WantedJob
from memoryos.infrastructure.vault.records import (
    CHANGES_NO_CLASS,
    RESTING,
    Archived,
    AskedJob,
    CubePlace,
    Entry,
    Job,
    JobKind,
    JobState,
    KeptVersion,
    Link,
    Operation,
    ReplacedVersion,
    Spending,
)
from memoryos.infrastructure.vault.removal_part import RemovalPart
from memoryos.infrastructure.vault.statements import (
    ask,
    chunks,
    delete_links,
    delete_rows,
    insert_links,
    insert_new_rows,
    insert_rows,
    next_position,
    put_rows,
    update_cubes,
)
from memoryos.infrastructure.vault.stored_cubes import StoredCubes
from memoryos.infrastructure.vault.version_part import VersionPart, last_removed, leaving
from memoryos.kinds import Kind, State
from memoryos.label_change import LabelChange
from memoryos.retention import VersionLimit
from memoryos.scope import Scope

GRACE = timedelta(minutes=5)  # that a pack whose documents came back stays, for sessions that began before

MERGE_AFTER = timedelta(minutes=1)  # a new memory, with those that come meanwhile


class SqlReader(StoredCubes):
    """`contract.Reader` over a connection."""

    @property
    def whole(self) -> SqlReader:
        return self

    @property
    def view(self) -> View | None:
        return None

    def found_pages(self, pages: Iterable[str]) -> dict[str, MemCube]:
        return self.get(pages)

    def shown(self, cube: MemCube) -> MemCube:
        return cube

    def replaced(self, cube_id: str) -> list[ReplacedVersion]:
        rows = ask(self._connection, queries.REPLACED, {**self._owner, "cube_id": cube_id})
        return [ReplacedVersion(number, from_micros(at), sequence) for number, at, sequence in rows]

    def authors(self, cube_id: str) -> dict[int, Author]:
        with legible("events"):
            return {number: read_author(detail) for number, detail in self._asked(queries.AUTHORS, [cube_id])}

    def label_changes(self, ids: Iterable[str]) -> dict[str, list[LabelChange]]:
        with legible("events"):
            return read_label_changes(self._asked(queries.LABEL_CHANGES, ids))

    def jobs(self, *states: JobState) -> list[Job]:
        with legible("jobs"):
            return self._queue.jobs(states)

    def latest_job(self, kind: str, payloads: Sequence[Mapping[str, Any]]) -> Job | None:
        return self._queue.latest(kind, payloads)

    def asked(self, *kinds: JobKind) -> list[AskedJob]:
        with legible("jobs"):
            return self._queue.asked(kinds)

    def next_due(self) -> datetime | None:
        with legible("jobs"):
            return self._queue.next_due()

    def cold(self, ids: Iterable[str]) -> dict[str, str]:
        return packs_of(self._asked(queries.REFERENCES, ids))

    def archived(self, *, after: int = 0, limit: int = 1000) -> list[Archived]:
        return self._cold.archived(after, limit)

    def packs(self) -> dict[str, datetime | None]:
        return self._cold.packs()

    def placed(self, *, after: int = 0, limit: int = 1000, session: str | None = None) -> list[CubePlace]:
        rows = self._everything.placed(after, limit, session)
        return [CubePlace(at, one, self._kind(kind, one), self._version(told, one)) for at, one, kind, told in rows]

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        with legible("links"):
            return self._everything.links_of(ids)

    def removed(self, ids: Iterable[str]) -> set[str]:
        return {cube_id for (cube_id,) in self._asked(queries.REMOVED, ids)}

    def trimmed(self, ids: Iterable[str]) -> dict[str, int]:
        with legible("events"):
            return {cube_id: last_removed(detail) for cube_id, detail in self._asked(queries.REFRESHED, ids)}

    def remains(self) -> dict[str, int]:
        return self._everything.remains()

    def expired(self) -> list[str]:
        return self._expiry.expired()

    def next_expiry(self) -> datetime | None:
        return self._expiry.next_expiry()

    def note(self, key: str) -> str | None:
        return self._ledger.note(key)

    def spending(self, *, since: date | None = None) -> list[Spending]:
        with legible("usage"):
            return self._ledger.spending(since)


class SqlWriter(SqlReader):
    """`contract.Writer` over a connection inside a transaction."""

    has_removed_words = False  # of a page
    has_erased = False  # a cube, of whatever kind, or a version
    has_lost_memories = False  # the same, but for segments: what the program dissolves is said elsewhere
    merges = False  # whether a job merges new memories with those that say the same
    version_limit: VersionLimit | None = None  # how many earlier versions are kept; None: all
    changes: dict[Operation, list[AuditedCube]] | None = None  # by operation; None: nobody asks for them
    _told = frozenset[str]()  # of which cubes the events of this transaction make decisions void

    def insert(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        _check_scope(entries, self._scope)
        first, is_ruled = next_position(self._connection, self._owner)
        entries = self.retention.governed(entries) if is_ruled else entries
        rows = [{**row, "position": first + index} for index, row in enumerate(_rows(entries))]
        insert_rows(self._connection, tables.cubes, rows)
        self.blobs.refer((entry.cube for entry in entries), self._clock())
        self._index(entries)
        self._log((entry.cube for entry in entries), Operation.ADD, authored())
        self._ask_to_sweep(self._expiry.first_end(entry.cube for entry in entries))
        if self.merges:
            self.enqueue(JobKind.MERGE, not_before=self._clock() + MERGE_AFTER)

    def update(
        self, entries: Sequence[Entry], operation: Operation, *, detail: str | None = None, cause: str | None = None
    ) -> None:
        if not entries:
            return
        _check_scope(entries, self._scope)
        standings = self._standings([entry.cube.id for entry in entries])
        stored = {cube_id: known.state for cube_id, known in standings.items()}
        guard.check_contents(entries, operation, stored, self.get)
        entries = self.retention.governed(entries)
        changed_states = guard.state_changes(entries, stored, acting_caller(), cause, operation)
        self.retention.check_ends([one.cube.id for one in changed_states if one.cube.state is State.EXPIRED])
        self._bring_back(entry.cube.id for entry in entries)
        if operation is Operation.REVISE:
            self._keep_versions(entries)
            self._kept.pack(entry.cube.id for entry in entries if entry.cube.version.number > 2)
        over = [one.cube.id for one in changed_states if one.cube.state in OVER]
        rows = _rows(entries)
        relabelled = label_details(rows, standings)
        self._withdraw(outdated(self, entries, operation, over, relabelled))
        changed = update_cubes(self._connection, rows)
        if changed != len(entries):
            self._check_owned(entry.cube.id for entry in entries)
        self.has_removed_words |= any(entry.passages is not None for entry in entries)
        if operation is Operation.REVISE:  # no other one adds attachments
            self.blobs.refer((entry.cube for entry in entries), self._clock())
        self._reindex(entries)
        said = authored(detail) if operation is Operation.REVISE else detail
        self._log((entry.cube for entry in entries), operation, said)
        for one in changed_states:
            self._log([one.cube], Operation.TRANSITION, one.detail)
        for entry in (one for one in entries if one.cube.id in relabelled):
            self._log([entry.cube], Operation.LABEL, authored(relabelled[entry.cube.id]))
        self._ask_to_sweep(self._expiry.first_end((entry.cube for entry in entries), changed_states))
        if operation is Operation.REVISE:
            self._ask_to_trim([entry.cube for entry in entries])

    def delete(self, ids: Sequence[str]) -> None:
        self._withdraw(built_from(self, ids))
        guard.check_deletion(self.states(ids))
        self.retention.check_deletion(ids)
        self._give_back(ids)
        self._bring_back(ids)
        self._remove(ids)

    def discard(self, ids: Sequence[str], *, rows: int, characters: int) -> list[str]:
        guard.check_deletion(self.states(ids))
        self.retention.refuse_all("removed")
        known = {cube_id for cube_id, _, _ in self._doomed(ids)}
        self._leave_topics(known)
        removal = RemovalPart(self._connection, self._scope.tenant, rows, characters)
        gone = removal.strip([cube_id for cube_id in ids if cube_id in known])
        self._withdraw(built_from(self, gone))
        self._remove(gone)
        return gone

    def _withdraw(self, built: Built) -> None:
        """Remove what was built from memories that go or changed, with its bytes, and have it built again."""
        if going := built.going(self):
            self.delete(going)
        if built.has_adapter:
            self.enqueue(JobKind.TRAIN, not_before=self._clock() + TRAIN_AFTER)

    def _remove(self, ids: Sequence[str]) -> None:
        if not ids:
            return
        doomed = self._doomed(ids)
        self._leave_topics(cube_id for cube_id, kind, _ in doomed if kind == Kind.PAGE.value)
        for chunk in chunks(cube_id for cube_id, _, _ in doomed):
            self.blobs.let_go(chunk)
            self._connection.execute(queries.REMOVAL, {**self._owner, "ids": chunk})
            self._silence(chunk)
        if self.blobs.has_let_go:  # the bytes go when this is committed; if that fails, a little later
            self.enqueue(JobKind.SWEEP, not_before=self._clock() + GRACE)
        self._log_rows(doomed, Operation.DELETE)

    def _silence(self, ids: Sequence[str]) -> None:
        """Remove what the events of these cubes tell of callers and reasons; a repair needs its own to be undone."""
        events = tables.events
        told = (events.c.operation != Operation.REHOME.value, events.c.detail.is_not(None))
        # Found by the cubes alone: beside the owner, SQLite would look through all events that the owner has.
        found = select(events.c.sequence).where(events.c.tenant == self._scope.tenant, events.c.cube_id.in_(ids), *told)
        silent = update(events).where(self._owned(events), events.c.sequence.in_(found))
        self._connection.execute(silent.values(detail=None))

    def _leave_topics(self, pages: Iterable[str]) -> None:
        self.has_erased |= self._kept.drop_topics(pages)

    def _doomed(self, ids: Sequence[str]) -> list[tuple[str, str, int]]:
        """The id, kind and version of what will be removed: told without the documents, which may be damaged."""
        heads = self._asked(queries.HEADS, ids)
        found = [(cube_id, self._kind(kind, cube_id).value, version) for cube_id, kind, version in heads]
        self.has_removed_words |= any(kind == Kind.PAGE.value for _, kind, _ in found)
        self.has_erased |= bool(found)
        self.has_lost_memories |= any(kind != Kind.SEGMENT.value for _, kind, _ in found)
        return found

    def link(self, links: Sequence[Link]) -> None:
        if links:
            self._check_owned(link.source for link in links)
            # Only a repeated link is ignored; a second segment for a page still fails.
            insert_links(self._connection, self._scope.tenant, links)
            self._tell_of_pages(links)

    def unlink(self, links: Sequence[Link]) -> None:
        if links:
            self._check_owned(link.source for link in links)
            self.has_erased |= self._kept.drop_topics(leaving(links), stay=True)
            delete_links(self._connection, self._scope.tenant, links)
            self._tell_of_pages(links)

    def _tell_of_pages(self, links: Iterable[Link]) -> None:
        """Log that memories rest on other pages, which decide who may read them, where nothing else is logged of it."""
        if silent := {link.source for link in links if link.kind in RESTING} - self._told:
            self._log_rows(self._asked(queries.HEADS, silent), Operation.REFRESH)

    def enqueue(
        self,
        kind: str,
        cube_ids: Iterable[str | None] = (None,),
        *,
        payload: Mapping[str, Any] | None = None,
        priority: int = 0,
        not_before: datetime | None = None,
        anew: bool = False,
    ) -> list[str]:
        wanted = list(cube_ids)
        self._check_owned(one for one in wanted if one is not None)
        return self._queue.enqueue(WantedJob(kind, payload, priority, not_before, anew), wanted) if wanted else []

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

    def begin_pack(self, pack: Pack, *, remove_at: datetime) -> bool:
        return self._cold.begin(pack, remove_at)

    def cool(self, pack: Pack) -> bool:
        cubes = self.get(pack.documents).values()
        if not self._cold.are_as_packed(pack) or not self._cold.put_in_use(pack.name, self._clock()):
            return False
        self._cold.swap(pack.documents, pack.name, out=True)
        self._log(cubes, Operation.COOL)
        return True

    def warm(self, name: str) -> None:
        back = self._cold.swap(self._cold.read(name).documents, name, out=False)
        self._cold.give_up(name, self._clock() + GRACE)
        self._log(self.get(back).values(), Operation.WARM)

    def claim_packs(self, *, drafts: bool = False) -> list[str]:
        return self._cold.spoil() if drafts else self._cold.claim(self._clock())

    def forget_packs(self, names: Iterable[str]) -> None:
        self._cold.forget(names)

    def _bring_back(self, ids: Iterable[str]) -> None:
        """Restore the packs with documents of cubes that will be changed or deleted.

        Without an object store, no cold cube could have been read, so there is nothing to restore.
        """
        if not self._packs.are_kept:
            return
        for name in sorted(set(self.cold(ids).values())):
            self.warm(name)

    def _give_back(self, ids: Sequence[str]) -> None:
        """Let what these memories took in be found again: they go."""
        self.update(orphans(self, ids), Operation.REFRESH, cause=GONE)

    def purge(self, limit: int) -> int:
        self.retention.refuse_all("removed")
        self._everything.give_up(self._cold, self._clock())
        self.has_erased = self.has_lost_memories = True
        return self._everything.purge(limit)

    def keep_versions(self, earlier: Sequence[Entry]) -> None:
        ids = {entry.cube.id for entry in earlier}
        self._check_owned(ids)
        insert_new_rows(self._connection, tables.versions, [version_row(entry) for entry in earlier])
        self._kept.pack(ids)

    def drop_versions(self, versions: Iterable[KeptVersion]) -> None:
        doomed = list(versions)
        ids = {one.cube_id for one in doomed}
        self._check_owned(ids)
        guard.check_deletion(self.states(ids))
        self.retention.check_deletion(list(ids))
        self.has_erased |= bool(doomed)
        self.has_lost_memories |= bool(doomed)
        self._leave_topics(one for one, kind in self.kinds(ids).items() if kind is Kind.PAGE)
        self._kept.let_go({one: {each.number for each in doomed if each.cube_id == one} for one in ids})
        keys = [{"tenant": self._scope.tenant, "cube_id": one.cube_id, "version": one.number} for one in doomed]
        delete_rows(self._connection, tables.versions, keys)

    def write_note(self, key: str, value: str | None) -> None:
        self._ledger.write_note(key, value)

    def spend(self, spending: Spending) -> None:
        self._ledger.spend(spending)

    def spent_by_all(self, day: date) -> tuple[int, int]:
        return self._ledger.spent_by_all(day)

    def _standings(self, ids: Sequence[str]) -> dict[str, Standing]:
        found = self._asked(queries.STANDINGS, ids)
        return {cube_id: Standing(self._state(state, cube_id), *known) for cube_id, state, *known in found}

    def _ask_to_sweep(self, due: datetime | None) -> None:
        """Have what expires removed then."""
        if due is not None:
            self.enqueue(JobKind.EXPIRE, not_before=due)

    def _ask_to_trim(self, revised: Sequence[MemCube]) -> None:
        """Have the versions removed that are not kept: now, or when the one that gave way is old enough."""
        limit = self.version_limit
        if limit is None:
            return
        over = [cube.id for cube in revised if limit.most is not None and cube.version.number - 1 > limit.most]
        self.enqueue(JobKind.TRIM, over)
        if limit.seconds is not None:
            others = [cube.id for cube in revised if cube.id not in over]
            self.enqueue(JobKind.TRIM, others, not_before=self._clock() + timedelta(seconds=limit.seconds))

    def _index(self, entries: Sequence[Entry]) -> None:
        vectors = [vector_row(entry) for entry in entries if entry.vector is not None]
        insert_rows(self._connection, tables.vectors, vectors)
        insert_rows(self._connection, tables.passages, [row for entry in entries for row in entry.passage_rows])

    def _reindex(self, entries: Sequence[Entry]) -> None:
        """Replace vectors and passages; a cube with passages has no vector of its own."""
        changed = [entry for entry in entries if entry.passages is not None or entry.vector is not None]
        self._drop_vectors([entry.cube.id for entry in changed])
        for entry in changed:
            if entry.passages is not None:
                self._drop_passages(entry.cube.id, behind=len(entry.passages))
        put_rows(self._connection, tables.vectors, [vector_row(entry) for entry in changed if entry.vector is not None])
        put_rows(self._connection, tables.passages, [row for entry in changed for row in entry.passage_rows])

    def _drop_vectors(self, ids: Sequence[str]) -> None:
        for chunk in chunks(ids):
            mine = tables.vectors.c.tenant == self._scope.tenant, tables.vectors.c.cube_id.in_(chunk)
            self._connection.execute(delete(tables.vectors).where(*mine))

    def _drop_passages(self, cube_id: str, *, behind: int) -> None:
        """Remove the passages behind the last one that will be replaced."""
        passages = tables.passages.c
        mine = passages.tenant == self._scope.tenant, passages.cube_id == cube_id, passages.part > behind
        self._connection.execute(delete(tables.passages).where(*mine))

    def _keep_versions(self, entries: Sequence[Entry]) -> None:
        """Store the present documents: of pages without what they say of others, else as they are, which is faster."""
        pages = [entry.cube.id for entry in entries if entry.cube.kind is Kind.PAGE]
        present = map(Entry, self.get(pages).values())
        insert_rows(self._connection, tables.versions, [version_row(entry) for entry in present])
        for chunk in chunks(entry.cube.id for entry in entries if entry.cube.kind is not Kind.PAGE):
            self._connection.execute(queries.KEEP_VERSIONS, {**self._owner, "ids": chunk})

    @property
    def _kept(self) -> VersionPart:
        return VersionPart(self._connection, self._owner)

    def _log(self, changed: Iterable[MemCube], operation: Operation, detail: str | None = None) -> None:
        self._log_rows([(cube.id, cube.kind.value, cube.version.number) for cube in changed], operation, detail)

    def _log_rows(
        self, changed: Iterable[tuple[str, str, int]], operation: Operation, detail: str | None = None
    ) -> None:
        """Log what was done to cubes, each by its id, kind and version."""
        at = micros(self._clock())
        changed = list(changed)
        if operation not in CHANGES_NO_CLASS:
            self._told |= {cube_id for cube_id, _, _ in changed} - self._told
        if self.changes is not None:
            self.changes.setdefault(operation, []).extend(AuditedCube(*one) for one in changed)
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
            told = "is not in this scope, or the rows of the store contradict each other: run `memoryos verify`"
            raise StoreCorrupt(f"cube {min(foreign)} {told}; nothing was written")


def _check_scope(entries: Sequence[Entry], owner: Scope) -> None:
    for entry in entries:
        if entry.cube.scope.owner != owner:
            raise StorageError(f"cube {entry.cube.id} belongs to another scope; nothing was written")


def _rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    return [tables.cube_row(entry.cube, entry.document, entry.labels) for entry in entries]
