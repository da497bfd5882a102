"""The store contract: what every back end does, but not how.

A vault is used through short sessions, each bound to one scope, so a statement without an owner cannot be written.
`read` gives a consistent snapshot. `write` is one transaction: all of it becomes durable when the block ends, or
nothing does. A session sees only the cubes of its tenant, user, agent and namespace.
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
    """A consistent snapshot of one owner's cubes."""

    @property
    def blobs(self) -> BlobNotes:
        """The access to attachment bytes in the object store."""
        ...

    def get(self, ids: Iterable[str]) -> dict[str, MemCube]:
        """Return the cubes with these ids that exist in this scope; a damaged cube is left out and logged."""
        ...

    def one(self, cube_id: str) -> MemCube | None:
        """Return the cube with that id, or None if this scope has none. Raises CubeDamaged."""
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
        """Return cubes in order of insertion; `first` or `last` limits them to the first or last ones."""
        ...

    def added(self, ids: Iterable[str]) -> set[str]:
        """Return those ids that were ever added to this scope, even if the cubes are gone."""
        ...

    def kinds(self, ids: Iterable[str]) -> dict[str, Kind]:
        """Return the kinds of those cubes that exist, including damaged ones."""
        ...

    def versions(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the version numbers of those cubes that exist."""
        ...

    def vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of those cubes that have one."""
        ...

    def targets(self, sources: Iterable[str], kind: LinkKind) -> list[Link]:
        """Return the links of that kind from these cubes."""
        ...

    def sources(self, targets: Iterable[str], kind: LinkKind) -> list[Link]:
        """Return the links of that kind to these cubes, in insertion order of the source."""
        ...

    def unread(self, segment: str) -> list[str]:
        """Return the pages of a segment that were not extracted with it, in insertion order."""
        ...

    def successions(self, ids: Iterable[str]) -> set[str]:
        """Return these cubes and all facts that SUPERSEDES links connect with them, over any number of steps.

        Proposed facts are left out unless they are named.
        """
        ...

    def passages(self, pages: Iterable[str] | None = None) -> Iterator[StoredPassage]:
        """Return the passages of these pages (default: all) in order; a page without passages gives one row."""
        ...

    def facets(self, pages: Iterable[str]) -> dict[str, Facet]:
        """Return the facets of those pages that exist, without their passages."""
        ...

    def beside(self, pages: Iterable[str]) -> set[str]:
        """Return the pages directly before and after these in their sessions, if they are stored near each other."""
        ...

    def sequence(self) -> int:
        """Return the sequence of the scope's latest event, or 0."""
        ...

    def history(self, cube_id: str) -> list[MemCube]:
        """Return earlier versions of a cube, oldest first. Raises CubeDamaged."""
        ...

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return the scope's events with a sequence above `after`, oldest first."""
        ...

    def jobs(self, *states: JobState) -> list[Job]:
        """Return the scope's jobs in these states (default: all), oldest first."""
        ...

    def asked(self) -> list[AskedJob]:
        """What of the scope's jobs waits or is being done, oldest first: all that `jobs` tells takes longer to read."""
        ...

    def next_due(self) -> datetime | None:
        """Return when the next job can be leased: now, later, or None if there is none."""
        ...

    def cold(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the pack name of each archived cube, by cube id."""
        ...

    def archived(self, *, after: int = 0, limit: int = 1000) -> list[Archived]:
        """Return the archived pages above that position whose documents are in the store, by position."""
        ...

    def packs(self) -> dict[str, datetime | None]:
        """Return the owner's packs and when each is to be removed; None while it is in use."""
        ...

    def census(self) -> Census:
        """Return the number of cubes by kind and tier."""
        ...

    def listed(self, wanted: Selection, *, after: int = 0, limit: int | None = None) -> list[Positioned]:
        """Return up to `limit` cubes of a selection above that position; a damaged cube is left out and logged."""
        ...

    def counted(self, wanted: Selection) -> int:
        """Return the number of cubes in a selection; damaged cubes may count."""
        ...

    def placed(self, *, after: int = 0, limit: int = 1000, session: str | None = None) -> list[CubePlace]:
        """Return cubes of every kind, tier and state, even damaged ones, in order of insertion; or of one session."""
        ...

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        """Return the links of every kind from these cubes."""
        ...

    def remains(self) -> dict[str, int]:
        """Return the number of rows of the owner in each table, without the events that only record a deletion."""
        ...

    def note(self, key: str) -> str | None:
        """Return the note under that key, or None."""
        ...

    def spending(self, *, since: date | None = None) -> list[Spending]:
        """Return the usage of models since that day, by day, purpose and model."""
        ...


class Writer(Reader, Protocol):
    """A transaction on one owner's cubes. Each change is logged as one event."""

    def insert(self, entries: Sequence[Entry]) -> None:
        """Store new cubes. An id that already exists in the tenant is a programming error."""
        ...

    def update(self, entries: Sequence[Entry], operation: Operation, *, detail: str | None = None) -> None:
        """Replace cubes by their new versions. REVISE keeps the old version in the history.

        `detail` is stored with the events: what undoing the operation needs, as JSON.
        """
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete cubes with their vectors, passages, links, versions and jobs; only the event remains."""
        ...

    def link(self, links: Sequence[Link]) -> None:
        """Add links; existing ones stay as they are."""
        ...

    def unlink(self, links: Sequence[Link]) -> None:
        """Remove links; missing ones are ignored."""
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
        """Add a job for each cube (None: for the scope) and return the ids of the jobs.

        Deleting a cube deletes its jobs. If a job of the same kind and payload already waits, it becomes due earlier or
        gets the higher priority, and no second one is added.
        """
        ...

    def drop_jobs(self) -> int:
        """Remove all jobs of a scope that is being deleted, in any state, and return how many.

        Jobs that remove its data from the object store stay.
        """
        ...

    def lease(self, *, lasting: timedelta, limit: int = 1, early: Collection[str] = ()) -> list[Job]:
        """Lease jobs that are due or whose lease has expired, by priority, then oldest first.

        Jobs of kinds that the vault does not know (`Vault.known_jobs`) are left to other programs. For a kind in
        `early`, due jobs bring others of the kind that are not due yet, up to the limit. While another worker holds a
        job of the scope, nothing is leased, because jobs run one after the other. A job that failed before is leased
        alone. If a lease or a delay would end impossibly late, a clock ran ahead when it was stored, and it is ignored.
        """
        ...

    def release(self, job: Job) -> None:
        """Put a leased job back as if it had not been leased. Raises LeaseLost like `finish`."""
        ...

    def extend(self, job: Job, *, lasting: timedelta) -> None:
        """Extend a lease. Raises LeaseLost if another worker has taken the job over."""
        ...

    def finish(self, job: Job) -> None:
        """Mark a leased job as done. Raises LeaseLost if another worker has taken it over."""
        ...

    def fail(self, job: Job, error: str, *, retry_at: datetime | None) -> None:
        """Postpone a leased job, or mark it dead (None), with the cause. Raises LeaseLost like `finish`."""
        ...

    def retry(self, job_ids: Sequence[str]) -> int:
        """Put dead jobs back into the queue as if never tried, with their last error; return how many."""
        ...

    def begin_pack(self, name: str, *, remove_at: datetime) -> None:
        """Record a pack before it is written. It is removed at that time unless it is in use by then."""
        ...

    def cool(self, pack: Pack) -> bool:
        """Replace the documents of a pack by references to it. Call this after the pack is stored.

        Returns False and changes nothing if a document changed or the time of the pack is over.
        """
        ...

    def warm(self, name: str) -> None:
        """Put all documents of a pack back into the store; the pack itself is removed later.

        Any change to a cube in a pack does this too. Raises StoreCorrupt or ObjectsUnreachable if the pack cannot be
        read.
        """
        ...

    def claim_packs(self) -> list[str]:
        """Return the packs to remove now; they are not used any more."""
        ...

    def forget_packs(self, names: Iterable[str]) -> None:
        """Delete the records of packs that were removed."""
        ...

    def discard(self, ids: Sequence[str]) -> None:
        """Delete cubes without restoring those in packs; unknown ids are ignored.

        Use it only when all memories of the owner are deleted: the packs stay in use until `purge` releases them.
        """
        ...

    def purge(self, limit: int) -> int:
        """Remove up to so many rows of the owner beside cubes and return how many; 0 when none is left.

        These are jobs, notes, usage of models, and all events except those that record a deletion, which other
        processes follow. Packs are released for `claim_packs`.
        """
        ...

    def keep_versions(self, earlier: Sequence[MemCube]) -> None:
        """Store earlier versions of cubes that exist in a later version."""
        ...

    def write_note(self, key: str, value: str | None) -> None:
        """Store a note, replacing the earlier one; None removes it."""
        ...

    def spend(self, spending: Spending) -> None:
        """Add to the day's usage for that purpose; negative numbers return what was reserved but not needed."""
        ...

    def spent_by_all(self, day: date) -> tuple[int, int]:
        """Return the day's tokens and cost (in millionths) of all owners of the store."""
        ...


class Reembedding(Protocol):
    """A write transaction on a whole store that changes to another embedder, the one of the session."""

    def begin(self) -> bool:
        """Start the change to our embedder; False while staged vectors of another one must be removed first.

        An unfinished change to another embedder is abandoned. If the store already uses our vectors, nothing else
        happens.
        """
        ...

    def is_done(self) -> bool:
        """Whether the store uses our vectors."""
        ...

    def tally(self) -> tuple[int, int]:
        """Return how many cubes have new vectors, and how many need them."""
        ...

    def pending(self, *, after: tuple[str, str], limit: int) -> list[Unembedded]:
        """Return cubes after this tenant and id whose new vectors are missing or outdated.

        Segments with pages are left out, because they get the mean of their pages' vectors.
        """
        ...

    def stage(self, vectors: Sequence[NewVectors]) -> None:
        """Store new vectors separately from those in use; vectors of deleted cubes are dropped."""
        ...

    def switch(self) -> None:
        """Replace the old vectors by the new ones and make ours the store's embedder.

        Call it when nothing is pending in this transaction. Sessions with the old embedder then get EmbedderMismatch.
        """
        ...

    def sweep(self, limit: int) -> bool:
        """Remove up to that many unneeded staged vectors; return whether there were any."""
        ...


class Reembeddable(Protocol):
    """A store that can change to another embedder."""

    def reembedding(self, embedder: str) -> AbstractContextManager[Reembedding]:
        """Open a write transaction on the whole store that changes to that embedder."""
        ...


class Bell(Protocol):
    """Wakes a worker, so that it need not poll often. It serves one thread."""

    def wait(self, seconds: float, stop: Flag) -> bool:
        """Wait until a notification, `stop` or the timeout; return whether there was a notification.

        Notifications follow transactions that made a job due, including those between two calls; some are spurious.
        There is none when a job's own time comes, so look for jobs after the timeout too.
        """
        ...

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        ...


Order = Callable[[Iterable[Scope]], list[Scope]]  #: sorts owners, the next one first


class Vault(Reembeddable, Protocol):
    """A store of cubes. A session raises EmbedderMismatch once the store has changed to another embedder."""

    packs: Packs  #: the documents outside the store; sessions read them from there
    blobs: Blobs  #: the bytes of attachments
    is_only_read: bool  #: if True, every write raises StoreReadOnly
    index_files: IndexFiles | None  #: where indexes are saved for the next process
    known_jobs: Collection[str] | None  #: the kinds of jobs that this process can do; None: all
    gate: Gate | None  #: checks the caller of each session; None if the vault is used by itself

    def read(self, scope: Scope) -> AbstractContextManager[Reader]:
        """Open a snapshot of the scope's owner."""
        ...

    def write(self, scope: Scope) -> AbstractContextManager[Writer]:
        """Open a transaction on the scope's owner.

        It waits for other writers, and raises StoreBusy if that takes too long. It is durable when the block ends.
        Raises OutcomeUnknown if the outcome of the commit cannot be found out.
        """
        ...

    def owners(
        self, tenant: str, *, after: tuple[str, str, str] | None = None, limit: int | None = None
    ) -> list[Scope]:
        """Return the scopes of the tenant that hold a cube, by user, agent ("" means every agent) and namespace path.

        `after` and `limit` select a part of the list.
        """
        ...

    def users(self, tenant: str, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Return the users of the tenant who have a cube, in order; `after` and `limit` select a part."""
        ...

    def owners_of(self, tenant: str, user: str) -> list[Scope]:
        """Return the scopes of a user for which the store has more than deletion records."""
        ...

    def sweep_blobs(self, scope: Scope) -> int:
        """Remove the bytes that no cube of the owner refers to any more; return how many objects.

        Raises ObjectsUnreachable. A writer does this after the commit if it deleted references.
        """
        ...

    def copy_id(self) -> str | None:
        """The id of this copy of another store, such as a restored backup; None for an original.

        A copy does not use what was derived from the original and kept elsewhere, even if it replaces the original.
        """
        ...

    def waiting(self) -> list[Scope]:
        """Return the owners, of all tenants, with a job that is due or whose lease has expired, and none that is held.

        While another worker holds a job of an owner, no other job of it can be leased. The owner with the oldest such
        job comes first.
        """
        ...

    def claim(
        self, *, lasting: timedelta, limit: int = 1, early: Collection[str] = (), order: Order = list
    ) -> tuple[Scope, list[Job]] | None:
        """Lease the jobs of the next waiting owner that no worker is at; None if there is none.

        `order` sorts the owners of `waiting`. Workers that call this at the same time get different owners. Where
        owners are locked one by one, an owner with a writer is skipped, so nobody waits.
        """
        ...

    def bell(self) -> Bell:
        """Open the listener that tells a worker about new jobs; close it after use."""
        ...

    def unsettled(self) -> list[Scope]:
        """Return the owners, of all tenants, with pages in STM that an ended process did not assign to segments."""
        ...

    def archiving(self) -> list[Scope]:
        """Return the owners, of all tenants, with archived pages or packs."""
        ...

    def close(self) -> None:
        """Release the store. A second call does nothing."""
        ...
