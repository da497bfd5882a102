"""The store contract: what every back end does, and nothing about how.

A vault is used through short sessions, each bound to one scope, so a statement without an owner
cannot be written. `read` sees one consistent snapshot; `write` is one transaction: all of it becomes
durable when the block ends, or nothing does. What a session sees belongs to exactly that tenant,
user, agent and namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from threading import Event as Flag
from typing import Any, Protocol

from memoryos.caller import Gate
from memoryos.cube import MemCube
from memoryos.infrastructure.cold.pack import Pack
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.objects.blobs import Blobs
from memoryos.infrastructure.vault.index_files import IndexFiles
from memoryos.infrastructure.vault.records import (
    Archived,
    AskedJob,
    Census,
    CubePlace,
    Entry,
    Event,
    Facet,
    Job,
    JobState,
    Link,
    LinkKind,
    NewVectors,
    Operation,
    Spending,
    StoredPassage,
    Unembedded,
    Vector,
)
from memoryos.infrastructure.vault.selection import Positioned, Selection
from memoryos.infrastructure.vault.stored_blob import BlobNotes
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.lifecycle import CubeMark
from memoryos.scope import Scope


class Reader(Protocol):
    """A consistent view of one owner's cubes."""

    @property
    def blobs(self) -> BlobNotes:
        """Which bytes lie in the object store."""
        ...

    def get(self, ids: Iterable[str]) -> dict[str, MemCube]:
        """The cubes with these ids that exist in this scope; a damaged one is left out, and logged."""
        ...

    def one(self, cube_id: str) -> MemCube | None:
        """The cube with that id, if it exists in this scope. Raises CubeDamaged."""
        ...

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
        """Cubes in the order they were inserted; of these the `first` or the `last` so many, when told."""
        ...

    def added(self, ids: Iterable[str]) -> set[str]:
        """Which of these ids were ever added to this scope, whatever became of them."""
        ...

    def kinds(self, ids: Iterable[str]) -> dict[str, Kind]:
        """What kinds of cubes these are, of those that exist, also of damaged ones."""
        ...

    def versions(self, ids: Iterable[str]) -> dict[str, int]:
        """The numbers of the versions of these cubes; those that are gone are left out."""
        ...

    def vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        """The vectors of these cubes, where they have one."""
        ...

    def targets(self, sources: Iterable[str], kind: LinkKind) -> list[Link]:
        """The links of that kind that leave these cubes."""
        ...

    def sources(self, targets: Iterable[str], kind: LinkKind) -> list[Link]:
        """The links of that kind that arrive at these cubes, in insertion order of the source."""
        ...

    def successions(self, ids: Iterable[str]) -> set[str]:
        """These cubes with all facts that links of SUPERSEDES join with them, over any number of steps.

        Facts that are only proposed are no part of it, unless they are named.
        """
        ...

    def passages(self, pages: Iterable[str] | None = None) -> Iterator[StoredPassage]:
        """The passages of these pages (of all when none are named), in order; a page without any gives one row."""
        ...

    def facets(self, pages: Iterable[str]) -> dict[str, Facet]:
        """What is known of these pages, without their passages; those that are gone are left out."""
        ...

    def beside(self, pages: Iterable[str]) -> set[str]:
        """The pages directly before and after these in their sessions, as far as they are stored near each other."""
        ...

    def sequence(self) -> int:
        """The sequence of the scope's latest event; 0 when there is none."""
        ...

    def history(self, cube_id: str) -> list[MemCube]:
        """Earlier versions of a cube, oldest first. Raises CubeDamaged."""
        ...

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """The scope's events with a sequence above `after`, oldest first."""
        ...

    def jobs(self, *states: JobState) -> list[Job]:
        """The scope's jobs in these states (all when none is named), oldest first."""
        ...

    def asked(self) -> list[AskedJob]:
        """What of the scope's jobs waits or is being done, oldest first: all that `jobs` tells takes longer to read."""
        ...

    def next_due(self) -> datetime | None:
        """When the next job can be leased: now, when one can; None when there is none."""
        ...

    def cold(self, ids: Iterable[str]) -> dict[str, str]:
        """The packs of those of these cubes whose documents lie in one."""
        ...

    def archived(self, *, after: int = 0, limit: int = 1000) -> list[Archived]:
        """The archived pages above that position whose documents are here, by position."""
        ...

    def packs(self) -> dict[str, datetime | None]:
        """The owner's packs, and when each is to be removed; None is never, as long as it is in use."""
        ...

    def census(self) -> Census:
        """Counts by kind and tier."""
        ...

    def listed(self, wanted: Selection, *, after: int = 0, limit: int | None = None) -> list[Positioned]:
        """The cubes of a selection above that position, so many at most; a damaged one is left out, and logged."""
        ...

    def counted(self, wanted: Selection) -> int:
        """How many cubes a selection has; one that is damaged may count."""
        ...

    def placed(self, *, after: int = 0, limit: int = 1000, session: str | None = None) -> list[CubePlace]:
        """Cubes of every kind, tier and state, also damaged ones, in the order of insertion; of a session, if named."""
        ...

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        """The links of every kind that begin at these cubes."""
        ...

    def remains(self) -> dict[str, int]:
        """How many rows each table has of the owner; of events, those that tell more than that a cube is gone."""
        ...

    def note(self, key: str) -> str | None:
        """What was noted under that key."""
        ...

    def spending(self, *, since: date | None = None) -> list[Spending]:
        """What model calls took from that day on, by day, purpose and model."""
        ...


class Writer(Reader, Protocol):
    """A transaction on one owner's cubes. Each change is logged as one event."""

    def insert(self, entries: Sequence[Entry]) -> None:
        """Store new cubes. An id that exists already in the tenant is a programming error."""
        ...

    def update(self, entries: Sequence[Entry], operation: Operation, *, detail: str | None = None) -> None:
        """Store cubes in place of those with the same id. REVISE keeps the old version in the history.

        `detail` goes into the events: what undoing the operation needs, as JSON.
        """
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Remove cubes with their vectors, passages, links, versions and jobs; only the event remains."""
        ...

    def link(self, links: Sequence[Link]) -> None:
        """Add links; one that exists already is left as it is."""
        ...

    def unlink(self, links: Sequence[Link]) -> None:
        """Remove links; one that does not exist is ignored."""
        ...

    def enqueue(
        self,
        kind: str,
        cube_ids: Iterable[str | None] = (None,),
        *,
        payload: Mapping[str, Any] | None = None,
        priority: int = 0,
        not_before: datetime | None = None,
    ) -> list[str]:
        """Add a job for each cube (None: for the scope), which goes with its cube; returns the ids of the jobs.

        One of that kind with the same payload that waits already is at most hastened and raised.
        """
        ...

    def drop_jobs(self) -> int:
        """Remove the jobs of the scope, in whatever state, because the scope is deleted; returns how many.

        Those stay that remove what is left of it from the object store.
        """
        ...

    def lease(self, *, lasting: timedelta, limit: int = 1, early: Collection[str] = ()) -> list[Job]:
        """Take the jobs that are due, or whose lease has ended, the highest priority and then the oldest first.

        Those of a kind that the vault does not know (`Vault.known_jobs`) are left to a program that does.
        With due ones of a kind in `early` come others of it that are not due yet, as far as there is room.
        None while another worker holds a job of the scope: one after the other, in order. Never more than `limit`,
        and one that failed before comes alone. A lease or a delay that ends later than any could is taken for the
        work of a clock that ran ahead.
        """
        ...

    def release(self, job: Job) -> None:
        """Put a leased job back as if it had not been taken. Raises LeaseLost like `finish`."""
        ...

    def extend(self, job: Job, *, lasting: timedelta) -> None:
        """Let a lease end later. Raises LeaseLost when another worker has taken the job over."""
        ...

    def finish(self, job: Job) -> None:
        """Mark a leased job as done. Raises LeaseLost when another worker has taken it over."""
        ...

    def fail(self, job: Job, error: str, *, retry_at: datetime | None) -> None:
        """Put a leased job off until that moment, or bury it (None), with the cause. Raises LeaseLost like `finish`."""
        ...

    def retry(self, job_ids: Sequence[str]) -> int:
        """Put dead jobs back into the queue, as if never tried; their cause stays until they end. Returns how many."""
        ...

    def begin_pack(self, name: str, *, remove_at: datetime) -> None:
        """Note a pack before it is written; it is to be removed then, unless it is in use."""
        ...

    def cool(self, pack: Pack) -> bool:
        """Put references into a pack in the place of its documents; False, and nothing happens, when one changed.

        Also when the time of the pack is over. Call it when the pack is stored.
        """
        ...

    def warm(self, name: str) -> None:
        """Put all documents of a pack back; the pack itself is removed a while later.

        So does each change to a cube in it. Raises StoreCorrupt or ObjectsUnreachable when it cannot be read.
        """
        ...

    def claim_packs(self) -> list[str]:
        """The packs that are to be removed now; no more use is made of them."""
        ...

    def forget_packs(self, names: Iterable[str]) -> None:
        """Strike out packs that were removed."""
        ...

    def discard(self, ids: Sequence[str]) -> None:
        """Delete cubes without bringing those back that lie in packs; unknown ids are passed over.

        Only for an owner all of whose memories go: the packs are still in use, and `purge` gives them up.
        """
        ...

    def purge(self, limit: int) -> int:
        """Remove up to so many rows of what was written about the owner beside cubes; returns how many, 0 at the end.

        That is jobs, notes, what models took, and every event but those that say that a cube is gone, which other
        processes follow. Packs are given up, for `claim_packs`.
        """
        ...

    def keep_versions(self, earlier: Sequence[MemCube]) -> None:
        """Store what cubes were before; they are there in a later version."""
        ...

    def write_note(self, key: str, value: str | None) -> None:
        """Note a value in the place of the earlier one; None removes it."""
        ...

    def spend(self, spending: Spending) -> None:
        """Add to what was spent that day for that purpose; negative numbers take back what was not needed."""
        ...

    def spent_by_all(self, day: date) -> tuple[int, int]:
        """The tokens and the cost (in millionths) of that day, of every owner of the store."""
        ...


class Reembedding(Protocol):
    """A write transaction on a whole store that changes to another embedder, the session's."""

    def begin(self) -> bool:
        """Make ours the embedder that the store changes to; False while vectors of another one are in the way.

        A change to another embedder is given up. When the store's vectors are ours already, nothing else happens.
        """
        ...

    def is_done(self) -> bool:
        """Whether the vectors in use are ours."""
        ...

    def tally(self) -> tuple[int, int]:
        """How many cubes have their new vectors, and how many there are that need some."""
        ...

    def pending(self, *, after: tuple[str, str], limit: int) -> list[Unembedded]:
        """Cubes without vectors of ours, or with some of earlier words, that follow this tenant and id.

        A segment is none of them, as long as it has pages: it gets the mean of theirs.
        """
        ...

    def stage(self, vectors: Sequence[NewVectors]) -> None:
        """Keep new vectors aside, in place of earlier ones; those of a cube that is gone are dropped."""
        ...

    def switch(self) -> None:
        """Put the new vectors in the place of the old ones, and make ours the store's embedder.

        Call it when nothing is pending in this transaction. Who still uses the old embedder gets EmbedderMismatch.
        """
        ...

    def sweep(self, limit: int) -> bool:
        """Remove that many of the vectors kept aside that nobody needs any more; whether there were some."""
        ...


class Reembeddable(Protocol):
    """A store that can change to another embedder."""

    def reembedding(self, embedder: str) -> AbstractContextManager[Reembedding]:
        """A write transaction on the whole store, towards that embedder."""
        ...


class Bell(Protocol):
    """Wakes a worker that would otherwise ask for jobs again and again. It serves one thread."""

    def wait(self, seconds: float, stop: Flag) -> bool:
        """Return when it rings, `stop` is set or the time is over; whether it rang.

        It rings after a transaction that made a job due, also one between two calls; sometimes for nothing. Nobody
        rings when a job's own time comes, so look for jobs when the time is over, too.
        """
        ...

    def close(self) -> None:
        """Hear no more. Calling it twice is harmless."""
        ...


Order = Callable[[Iterable[Scope]], list[Scope]]  #: the same owners, the next one first


class Vault(Reembeddable, Protocol):
    """A store of cubes. A session raises EmbedderMismatch once the store has changed to another embedder."""

    packs: Packs  #: the documents that are not in the store itself; sessions read them through
    blobs: Blobs  #: the bytes of attachments
    is_only_read: bool  #: whether it was opened so; then every write raises StoreReadOnly
    index_files: IndexFiles | None  #: where indexes can be kept beside it, for the next process
    known_jobs: Collection[str] | None  #: the kinds of jobs that somebody here can do; None is all
    gate: Gate | None  #: admits each session, in the name of who is acting; None is for a vault used by itself

    def read(self, scope: Scope) -> AbstractContextManager[Reader]:
        """A snapshot of the scope's owner."""
        ...

    def write(self, scope: Scope) -> AbstractContextManager[Writer]:
        """A transaction on the scope's owner; waits for other writers, StoreBusy when too long.

        Durable when the block has ended; OutcomeUnknown when nobody can tell.
        """
        ...

    def owners(
        self, tenant: str, *, after: tuple[str, str, str] | None = None, limit: int | None = None
    ) -> list[Scope]:
        """Every scope of the tenant that holds a cube, by user, agent ("" is every agent) and path of the namespace.

        Of these, so many `after` a scope, when told.
        """
        ...

    def users(self, tenant: str, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Every user of the tenant who has a cube, in order; of these, so many after one, when told."""
        ...

    def owners_of(self, tenant: str, user: str) -> list[Scope]:
        """Every scope of a user that the store knows more of than that its memories are gone."""
        ...

    def sweep_blobs(self, scope: Scope) -> int:
        """Remove the bytes that no cube of the owner refers to any more; returns how many objects.

        Raises ObjectsUnreachable. A writer that deleted what referred to them does so when it is committed.
        """
        ...

    def copy_id(self) -> str | None:
        """Which copy of another store this is, such as a restored backup; None for one that is none.

        What is derived from a store and kept elsewhere is not a copy's, though that may stand in the store's place.
        """
        ...

    def waiting(self) -> list[Scope]:
        """The owners, of every tenant, with a job that is due or whose lease has ended, and none that is held.

        While another worker holds a job of an owner, there is nothing to take. The one with the oldest of these jobs
        comes first.
        """
        ...

    def claim(
        self, *, lasting: timedelta, limit: int = 1, early: Collection[str] = (), order: Order = list
    ) -> tuple[Scope, list[Job]] | None:
        """Lease, as a writer does, the jobs of the next of these owners whom nobody is at; None when there is none.

        `order` says in which order they come, of those `waiting`.
        Workers that call it at once get different owners. Where owners are locked one by one, an owner with a
        writer is passed over, so nobody waits.
        """
        ...

    def bell(self) -> Bell:
        """What tells a worker that jobs may have become due; close it."""
        ...

    def unsettled(self) -> list[Scope]:
        """The owners, of every tenant, with pages that a process left in STM before it found their place."""
        ...

    def archiving(self) -> list[Scope]:
        """The owners, of every tenant, with archived pages or with packs."""
        ...

    def close(self) -> None:
        """Release the store. Calling it twice is harmless."""
        ...
