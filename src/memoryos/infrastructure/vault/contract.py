"""The store contract: what every back end does, and nothing about how.

A vault is used through short sessions, each bound to one scope, so a statement without an owner
cannot be written. `read` sees one consistent snapshot; `write` is one transaction: all of it becomes
durable when the block ends, or nothing does. What a session sees belongs to exactly that tenant,
user, agent and namespace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import IntFlag, StrEnum
from threading import Event as Flag
from typing import NamedTuple, Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from memoryos.caller import Gate
from memoryos.clock import micros
from memoryos.cube import Kind, MemCube, State, Subject, Tier
from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.cold.pack import Pack
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.vault.index_files import IndexFiles
from memoryos.plain import Plain
from memoryos.scope import Scope

Vector = NDArray[np.float32]


class LinkKind(StrEnum):
    """What one cube is to another; read `source kind target`."""

    CHAIN = "chain"  # a page continues the chain of an earlier page
    MEMBER_OF = "member_of"  # a page belongs to a segment; at most one
    DERIVED_FROM = "derived_from"  # a fact, trait or profile field rests on a page
    SUPERSEDES = "supersedes"  # a cube replaces another; reserved until facts have a validity in time
    READ = "read"  # a page, and itself: LPM read it before it joined a segment
    MENTIONS = "mentions"  # a cube names an entity; reserved until entities are cubes


class Operation(StrEnum):
    """What an event says happened to a cube."""

    ADD = "add"
    MOVE = "move"  # to another tier
    CHAIN = "chain"  # a page found the chain it belongs to, or a model wrote of that
    JOIN = "join"  # a segment took in a page
    VISIT = "visit"  # a search returned it
    PROMOTE = "promote"  # a segment's pages were extracted into LPM
    REVISE = "revise"  # its content changed; the old version is in the history
    REHOME = "rehome"  # a page went to another segment
    REFRESH = "refresh"  # derived content was computed again
    DELETE = "delete"
    COOL = "cool"  # its document went into the object store
    WARM = "warm"  # and came back


class JobKind(StrEnum):
    """Work that follows a write."""

    EXTRACT = "extract"  # facts, traits and profile from a segment's new pages
    READ_RECENT = "read_recent"  # the same from the pages of STM, where the talk has ended
    REPAIR = "repair"  # pages of a segment that belong elsewhere
    ERASE = "erase"  # a memory whose deletion has to wait for the object store


class JobState(StrEnum):
    """Where a job is."""

    QUEUED = "queued"  # -> leased
    LEASED = "leased"  # a worker has it until the lease ends; -> done, queued, dead
    DONE = "done"
    DEAD = "dead"  # failed too often; the cause is kept


class Mark(IntFlag):
    """What can be said of a turn without a question at hand."""

    ASKS = 1  # it contains a question
    ENDS_ASKING = 2  # its last sentence is one
    # 4, that it mentions a time, is in stores of older versions; nothing reads it.
    BY_USER = 8  # a user said it who has no name here
    BY_ASSISTANT = 16  # an assistant said it who has no name here


UNMARKED = Mark(0)

COLD_TIER = "cold"  # in the place of `Tier.ARCHIVE` where pages are told apart by whether they can be read here


class Extent(NamedTuple):
    """Where a passage lies in its page."""

    turn: int  #: index of the turn in the page, from 0
    start: int = 0  #: of its first character in the turn's words
    end: int | None = None  #: behind its last one; None is the end of the turn


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn of a page, or a part of a long one, as search knows it."""

    vector: Vector  #: of unit length; stored as float16
    words: Sequence[str]  #: under which it is found, as written but lower case, repeated as often as they occur
    said_at: datetime
    speaker: str | None = None
    marks: Mark = UNMARKED
    extent: Extent | None = None  #: None: a whole turn, the one with the passage's own number

    @property
    def columns(self) -> PassageColumns:
        """The passage as it is stored."""
        turn, start, end = self.extent or (None, None, None)
        return {
            "said_at": micros(self.said_at),
            "speaker": self.speaker,
            "marks": int(self.marks),
            "words": " ".join(self.words),
            "vector": np.asarray(self.vector, dtype="<f2").tobytes(),
            "turn": turn,
            "start": start,
            "end": end,
        }


class PassageColumns(TypedDict):
    """What is stored of a passage itself; as in `StoredPassage`."""

    said_at: int
    speaker: str | None
    marks: int
    words: str
    vector: bytes
    turn: int | None
    start: int | None
    end: int | None


class StoredPassage(NamedTuple):
    """A passage with what its page says of it, as stored; one of 100,000, so a plain tuple."""

    page: str
    position: int  #: of the page, in order of insertion
    part: int  #: of the page, from 1; 0 when the page has no passages, and nothing follows but its tier
    tier: str  #: or COLD_TIER, of a page of the archive whose document lies in a pack
    session: str | None
    said_at: int  #: microseconds since the epoch
    speaker: str | None
    marks: int
    words: str  #: separated by spaces
    vector: bytes  #: little-endian float16
    tags: str | None = None  #: of the page, as `tags_text` writes them
    expires_at: int | None = None  #: microseconds since the epoch; 0 once the page's state is expired
    segment: str | None = None  #: the one that the page lies in
    turn: int | None = None  #: index of the turn in the page; None, of an older program's: the turn of that part, whole
    start: int | None = None  #: in the turn's words
    end: int | None = None
    checksum: int | None = None  #: of what is stored; None, of an older program's

    @property
    def extent(self) -> Extent:
        """Where it lies in its page."""
        return Extent(self.part - 1) if self.turn is None else Extent(self.turn, self.start or 0, self.end)


class Facet(NamedTuple):
    """What is known of a page, as far as it can change without the page's words."""

    tier: str  #: or COLD_TIER
    tags: str | None = None  #: as `tags_text` writes them
    expires_at: int | None = None  #: microseconds since the epoch; 0 once the page's state is expired
    segment: str | None = None  #: the one that the page lies in


def tags_text(tags: Sequence[str]) -> str | None:
    """Tags as a store keeps them beside the cube: a JSON list, or nothing when there are none."""
    return json.dumps(tags, ensure_ascii=False) if tags else None


@dataclass(frozen=True, slots=True)
class Entry:
    """A cube with what the indexes need to know about it.

    `vector` and `passages` are None when the cube has none (insert) or they did not change (update). A page has
    passages, and no vector beside them in the store.
    """

    cube: MemCube
    vector: Vector | None = None
    passages: Sequence[Passage] | None = None

    @property
    def known_vector(self) -> Vector:
        """The vector of a cube that must have one."""
        if self.vector is None:
            raise StoreCorrupt(f"cube {self.cube.id} has no vector; rebuild the index or restore from a backup")
        return self.vector


class Archived(NamedTuple):
    """A page of the archive, as stored."""

    position: int  #: in order of insertion
    id: str
    document: str  #: the cube as JSON; empty when it is damaged


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A cube that has no vectors of the embedder that the store changes to, with its passages."""

    cube: MemCube
    passages: Sequence[StoredPassage]


@dataclass(frozen=True, slots=True)
class NewVectors:
    """What another embedder made of a cube."""

    cube: MemCube
    whole: Vector  #: of a page with passages, its direction
    passages: Sequence[Vector] = ()  #: of its passages, in order


@dataclass(frozen=True, slots=True)
class Link:
    """A directed, typed edge between two cubes of one tenant."""

    source: str
    kind: LinkKind
    target: str


@dataclass(frozen=True, slots=True)
class Event(Plain):
    """One line of the log: every change to a cube is one event."""

    sequence: int
    at: datetime
    operation: Operation
    kind: Kind
    cube_id: str
    version: int
    detail: str | None = None  #: what undoing it needs, as JSON


@dataclass(frozen=True, slots=True)
class Job(Plain):
    """A unit of background work on one cube."""

    id: str
    kind: JobKind
    cube_id: str
    state: JobState
    attempts: int
    created_at: datetime
    error: str | None = None
    priority: int = 0
    not_before: datetime | None = None  #: it waits until then; of a leased one: it was taken early

    @property
    def is_planned(self) -> bool:
        """Whether it is only to be done some day, so that nobody waits for it yet."""
        is_untouched = self.state is JobState.QUEUED and not self.attempts
        return is_untouched and not self.priority and self.not_before is not None


@dataclass(frozen=True, slots=True)
class Spending(Plain):
    """What calls of a model for one purpose took on one day (UTC)."""

    day: date
    purpose: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: int = 0  #: millionths of the currency that prices are in


@dataclass(frozen=True, slots=True)
class Census:
    """How many cubes there are of each kind in each tier."""

    counts: Mapping[tuple[Kind, Tier], int]

    def of(self, kind: Kind, *tiers: Tier) -> int:
        """Cubes of that kind in those tiers; in all of them when none is named."""
        return sum(
            count for (found, tier), count in self.counts.items() if found is kind and (not tiers or tier in tiers)
        )


class Reader(Protocol):
    """A consistent view of one owner's cubes."""

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
        self, kind: JobKind, cube_ids: Iterable[str], *, priority: int = 0, not_before: datetime | None = None
    ) -> None:
        """Add a job for each cube; one of that kind that waits already is at most hastened and raised."""
        ...

    def lease(self, *, lasting: timedelta, limit: int = 1, early: Collection[JobKind] = ()) -> list[Job]:
        """Take the jobs that are due, or whose lease has ended, the highest priority and then the oldest first.

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
    is_only_read: bool  #: whether it was opened so; then every write raises StoreReadOnly
    index_files: IndexFiles | None  #: where indexes can be kept beside it, for the next process
    gate: Gate | None  #: admits each session, in the name of who is acting; None is for a vault used by itself

    def read(self, scope: Scope) -> AbstractContextManager[Reader]:
        """A snapshot of the scope's owner."""
        ...

    def write(self, scope: Scope) -> AbstractContextManager[Writer]:
        """A transaction on the scope's owner; waits for other writers, StoreBusy when too long.

        Durable when the block has ended; OutcomeUnknown when nobody can tell.
        """
        ...

    def owners(self, tenant: str) -> list[Scope]:
        """Every scope of the tenant that holds a cube."""
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
        self, *, lasting: timedelta, limit: int = 1, early: Collection[JobKind] = (), order: Order = list
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
