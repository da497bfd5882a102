"""The parts of `contract.Reader` and `contract.Writer`, one for each thing that a session reads or changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Protocol

from memoryos.cube import MemCube
from memoryos.hold import LegalHold
from memoryos.infrastructure.cold.pack import Pack
from memoryos.infrastructure.vault.authors import Author
from memoryos.infrastructure.vault.records import (
    Archived,
    AskedJob,
    Census,
    CubeClass,
    CubePlace,
    Entry,
    Event,
    Facet,
    Job,
    JobKind,
    JobState,
    KeptVersion,
    Link,
    LinkKind,
    Operation,
    ReplacedVersion,
    Spending,
    StoredPassage,
    Vector,
)
from memoryos.infrastructure.vault.selection import Positioned, Selection
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.label_change import LabelChange
from memoryos.lifecycle import CubeMark, Transition
from memoryos.retention import RetentionRule, UnusedRule


class CubeReader(Protocol):
    """The cubes of one owner, with what is stored beside each."""

    def permitted(self, ids: Iterable[str]) -> set[str]:
        """Return the ids of those cubes that the caller may read: all, unless the session is a view."""
        ...

    def shown(self, cube: MemCube) -> MemCube:
        """Return the cube without the words and ids of others that the caller may not read."""
        ...

    def classes(self, ids: Iterable[str]) -> dict[str, list[CubeClass]]:
        """Return the classes of those cubes that exist; a derived one has one for each different page beneath it."""
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

    def states(self, ids: Iterable[str]) -> dict[str, State]:
        """Return the states of those cubes that exist, including damaged ones."""
        ...

    def vectors(self, ids: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors of those cubes that have one."""
        ...

    def history(self, cube_id: str) -> list[MemCube]:
        """Return earlier versions of a cube, oldest first. Raises CubeDamaged."""
        ...

    def kept_versions(self, ids: Iterable[str]) -> list[KeptVersion]:
        """Return the size of each earlier version of these cubes, by cube, oldest first."""
        ...

    def replaced(self, cube_id: str) -> list[ReplacedVersion]:
        """Return when each earlier version of a cube gave way to the next one, oldest first."""
        ...

    def census(self) -> Census:
        """Return the number of cubes by kind and tier."""
        ...

    def listed(
        self, wanted: Selection, *, after: int = 0, limit: int | None = None, is_latest: bool = False
    ) -> list[Positioned]:
        """Return up to `limit` cubes of a selection above that position; a damaged cube is left out and logged.

        With `is_latest`, those below it (0: of all), last first.
        """
        ...

    def counted(self, wanted: Selection) -> int:
        """Return the number of cubes in a selection; damaged cubes may count."""
        ...

    def placed(self, *, after: int = 0, limit: int = 1000, session: str | None = None) -> list[CubePlace]:
        """Return cubes of every kind, tier and state, even damaged ones, in order of insertion; or of one session."""
        ...

    def remains(self) -> dict[str, int]:
        """Return the number of rows of the owner in each table, without the events that only record a deletion."""
        ...


class ExpiryReader(Protocol):
    """The memories of an owner that have expired, or will."""

    def expired(self) -> list[str]:
        """Return the memories that have expired and are not frozen, by the time at which they did."""
        ...

    def next_expiry(self) -> datetime | None:
        """Return when the next lifespan ends after now, or None."""
        ...


class LinkReader(Protocol):
    """The links between an owner's cubes."""

    def targets(self, sources: Iterable[str], kind: LinkKind) -> list[Link]:
        """Return the links of that kind from these cubes."""
        ...

    def sources(self, targets: Iterable[str], kind: LinkKind, *, merged: bool = False) -> list[Link]:
        """Return the links of that kind to these cubes, or those of merged cubes, in the order of the sources."""
        ...

    def unread(self, segment: str) -> list[str]:
        """Return the pages of a segment that were not extracted with it, in insertion order."""
        ...

    def successions(self, ids: Iterable[str]) -> set[str]:
        """Return these cubes and all facts that SUPERSEDES links connect with them, over any number of steps.

        Proposed facts are left out unless they are named.
        """
        ...

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        """Return the links of every kind from these cubes."""
        ...


class PassageReader(Protocol):
    """The passages of an owner's pages."""

    def passages(self, pages: Iterable[str] | None = None) -> Iterator[StoredPassage]:
        """Return the passages of these pages (default: all) in order; a page without passages gives one row."""
        ...

    def facets(self, pages: Iterable[str]) -> dict[str, Facet]:
        """Return the facets of those pages that exist, without their passages."""
        ...

    def beside(self, pages: Iterable[str]) -> set[str]:
        """Return the pages directly before and after these in their sessions, if they are stored near each other."""
        ...


class LogReader(Protocol):
    """The log of an owner's changes."""

    def removed(self, ids: Iterable[str]) -> set[str]:
        """Return those ids that were ever removed from this scope: erased, forgotten, deleted or expired."""
        ...

    def trimmed(self, ids: Iterable[str]) -> dict[str, int]:
        """Return the newest version that was removed by its age or number, of those cubes that lost any."""
        ...

    def sequence(self) -> int:
        """Return the sequence of the scope's latest event, or 0."""
        ...

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return the scope's events with a sequence above `after`, oldest first."""
        ...

    def transitions(self, cube_id: str) -> list[Transition]:
        """Return the changes of a cube's state, oldest first."""
        ...

    def label_changes(self, ids: Iterable[str]) -> dict[str, list[LabelChange]]:
        """Return the changes of the labels and ends of those cubes that had any, oldest first."""
        ...

    def authors(self, cube_id: str) -> dict[int, Author]:
        """Return who made each version of a cube, by its number."""
        ...


class QueueReader(Protocol):
    """The jobs of an owner."""

    def jobs(self, *states: JobState) -> list[Job]:
        """Return the scope's jobs in these states (default: all), oldest first."""
        ...

    def latest_job(self, kind: str, payloads: Sequence[Mapping[str, Any]]) -> Job | None:
        """Return the latest job of this kind, in any state, with one of these payloads; no other one is read."""
        ...

    def asked(self, *kinds: JobKind) -> list[AskedJob]:
        """Return the waiting and running jobs (default: of all kinds), oldest first; this is faster than `jobs`."""
        ...

    def next_due(self) -> datetime | None:
        """Return when the next job can be leased: now, later, or None if there is none."""
        ...


class ColdReader(Protocol):
    """The archived pages of an owner and the packs that hold some of them."""

    def cold(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the pack name of each archived cube, by cube id."""
        ...

    def archived(self, *, after: int = 0, limit: int = 1000) -> list[Archived]:
        """Return the archived pages above that position whose documents are in the store, by position."""
        ...

    def packs(self) -> dict[str, datetime | None]:
        """Return the owner's packs and when each is to be removed; None while it is in use."""
        ...


class LedgerReader(Protocol):
    """The notes about an owner, and what models were used for."""

    def note(self, key: str) -> str | None:
        """Return the note under that key, or None."""
        ...

    def spending(self, *, since: date | None = None) -> list[Spending]:
        """Return the usage of models since that day, by day, purpose and model."""
        ...


class CubeWriter(Protocol):
    """Changes to an owner's cubes."""

    def insert(self, entries: Sequence[Entry]) -> None:
        """Store new cubes. An id that already exists in the tenant is a programming error."""
        ...

    def update(
        self, entries: Sequence[Entry], operation: Operation, *, detail: str | None = None, cause: str | None = None
    ) -> None:
        """Replace cubes by their new versions. REVISE keeps the old version in the history.

        `detail` is stored with the events: what undoing the operation needs, as JSON. A change of the state is one more
        event, TRANSITION, with its `cause` (default: the operation), and one of labels or the end, LABEL. Raises
        CubeProtected if a frozen or read-only cube would change, and TransitionRefused if a state may not follow the
        other.
        """
        ...

    def delete(self, ids: Sequence[str]) -> None:
        """Delete cubes with their vectors, passages, links, versions and jobs; only the event remains.

        Raises CubeProtected if one is frozen.
        """
        ...

    def discard(self, ids: Sequence[str], *, rows: int, characters: int) -> list[str]:
        """Delete cubes without restoring those in packs; return those that are gone; unknown ids are ignored.

        At most so many rows go, and characters of documents: the cubes with their versions, passages and links. If no
        cube fits with them, the first one loses some of them and stays. At least one row goes, so that the next call
        gets further. Use it only when all memories of the owner are deleted: the packs stay in use until `purge`
        releases them.
        """
        ...

    def purge(self, limit: int) -> int:
        """Remove up to so many rows of the owner beside cubes and return how many; 0 when none is left.

        These are jobs, notes, usage of models, and all events except those that record a deletion, which other
        processes follow. Packs are released for `claim_packs`.
        """
        ...

    def keep_versions(self, earlier: Sequence[Entry]) -> None:
        """Store earlier versions of cubes that exist in a later version; stored versions stay as they are."""
        ...

    def drop_versions(self, versions: Iterable[KeptVersion]) -> None:
        """Remove earlier versions of cubes. Raises CubeProtected if a cube is frozen or on hold."""
        ...


class LinkWriter(Protocol):
    """Changes to the links between an owner's cubes."""

    def link(self, links: Sequence[Link]) -> None:
        """Add links; existing ones stay as they are."""
        ...

    def unlink(self, links: Sequence[Link]) -> None:
        """Remove links; missing ones are ignored."""
        ...


class RetentionNotes(Protocol):
    """The retention rules and legal holds of an owner. Only a writer may change them."""

    def refuse_all(self, undone: str) -> None:
        """Raise OnHold if anything of the owner is on hold; `undone` is what then is not done, as `removed`."""
        ...

    def rules(self) -> list[RetentionRule]:
        """Return the retention rules that apply: those of the owner, by name, then those of the tenant."""
        ...

    def own_rules(self) -> list[RetentionRule]:
        """Return the retention rules of the owner alone, by name."""
        ...

    def holds(self) -> list[LegalHold]:
        """Return the legal holds, in the order in which they were placed."""
        ...

    def held(self, ids: Iterable[str]) -> dict[str, LegalHold]:
        """Return those of these cubes that are on hold, each with the first hold."""
        ...

    def undeletable(self, ids: Sequence[str]) -> dict[str, LegalHold]:
        """Return those of these cubes that a hold keeps from being deleted, each with that hold."""
        ...

    def check_ends(self, ids: Sequence[str]) -> None:
        """Raise OnHold if one of these cubes is on hold, and so must not expire."""
        ...

    def write_rule(self, rule: RetentionRule) -> None:
        """Store a rule, in the place of one with its name. It applies to each cube that is written from now on."""
        ...

    def drop_rule(self, name: str) -> bool:
        """Remove a rule; return whether there was one."""
        ...

    def unused_rules(self) -> list[UnusedRule]:
        """Return the rules about what is not used, by name."""
        ...

    def write_unused_rule(self, rule: UnusedRule) -> None:
        """Store a rule about what is not used, in the place of one with its name."""
        ...

    def drop_unused_rule(self, name: str) -> bool:
        """Remove a rule about what is not used; return whether there was one."""
        ...

    def place(self, hold: LegalHold) -> None:
        """Store a legal hold. Raises TransitionRefused for background work."""
        ...

    def release(self, hold_id: str) -> bool:
        """Remove a hold; return whether there was one. Raises like `place`."""
        ...


class QueueWriter(Protocol):
    """Changes to the jobs of an owner."""

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
        """Add a job for each cube (None: for the scope) and return the ids of the jobs.

        Deleting a cube deletes its jobs. If a job of the same kind and payload already waits, it becomes due earlier or
        gets the higher priority, and no second one is added. One that failed keeps its delay; with `anew`, it begins
        anew at once.
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


class ColdWriter(Protocol):
    """Changes to the packs of an owner."""

    def begin_pack(self, pack: Pack, *, remove_at: datetime) -> bool:
        """Record a pack before it is written, to be removed then unless it is in use; False if a document changed."""
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

    def claim_packs(self, *, drafts: bool = False) -> list[str]:
        """Return the packs to remove now, or those that are being written; they are not used any more."""
        ...

    def forget_packs(self, names: Iterable[str]) -> None:
        """Delete the records of packs that were removed."""
        ...


class LedgerWriter(Protocol):
    """Changes to the notes about an owner and to the usage of models."""

    def write_note(self, key: str, value: str | None) -> None:
        """Store a note, replacing the earlier one; None removes it."""
        ...

    def spend(self, spending: Spending) -> None:
        """Add to the day's usage for that purpose; negative numbers return what was reserved but not needed."""
        ...

    def spent_by_all(self, day: date) -> tuple[int, int]:
        """Return the day's tokens and cost (in millionths) of all owners of the store."""
        ...
