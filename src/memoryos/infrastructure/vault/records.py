"""Records: the values that go into a vault and come out of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import IntFlag, StrEnum
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from memoryos.choice import Choice
from memoryos.clock import micros
from memoryos.cube import MemCube, Page, to_json
from memoryos.errors import StoreCorrupt
from memoryos.explained import altered
from memoryos.filter import labels_of
from memoryos.infrastructure.vault import checksum
from memoryos.kinds import Kind, Tier
from memoryos.plain import Plain
from memoryos.scope import Scope

Vector = NDArray[np.float32]


REVISIONS = 32  # of one cube that one operation writes at most; the history keeps the last ones


class KeptVersion(NamedTuple):
    """An earlier version of a cube in its history."""

    cube_id: str
    number: int
    size: int  #: of its document: characters on SQLite, bytes on PostgreSQL


class ReplacedVersion(NamedTuple):
    """An earlier version of a cube, and when the next one came."""

    number: int
    at: datetime
    sequence: int  #: of the event


class LinkKind(StrEnum):
    """The relation between two cubes; read it as `source kind target`."""

    CHAIN = "chain"  # a page continues the chain of an earlier page
    MEMBER_OF = "member_of"  # a page belongs to a segment; at most one
    DERIVED_FROM = "derived_from"  # a fact, trait or profile field rests on a page
    SUPERSEDES = "supersedes"  # a fact replaces or contradicts an earlier one
    READ = "read"  # a page, and itself: LPM read it before it joined a segment
    EXTRACTED = "extracted"  # a page, and itself: LPM read it with its segment
    ABSORBED = "absorbed"  # a memory took in an equal one, which is hidden as long as both are there
    COMPUTED_FROM = "computed_from"  # a KV state or an adapter holds what a cube says
    MENTIONS = "mentions"  # a cube names an entity; reserved until entities are cubes


RESTING = (LinkKind.DERIVED_FROM, LinkKind.COMPUTED_FROM)  # whoever may not read the target may not read the source


class Operation(StrEnum):
    """What happened to a cube in an event."""

    ADD = "add"
    MOVE = "move"  # to another tier
    CHAIN = "chain"  # a page joined its chain, or a model summarised the chain
    JOIN = "join"  # a page joined a segment
    VISIT = "visit"  # a search returned it
    PROMOTE = "promote"  # a segment's pages were extracted into LPM
    REVISE = "revise"  # its content changed; the old version is in the history
    REHOME = "rehome"  # a page went to another segment
    REFRESH = "refresh"  # derived content was computed again
    DELETE = "delete"
    COOL = "cool"  # its document went into the object store
    WARM = "warm"  # and came back
    TRANSITION = "transition"  # its state changed, with another operation; `detail`: before, after, by, cause
    LABEL = "label"  # its tags, sensitivity, access or end changed, with another operation; `detail`: what, by, call


CHANGES_NO_CLASS = (Operation.VISIT, Operation.TRANSITION)  # whoever may read a cube may do so after these events


class JobKind(StrEnum):
    """The built-in kinds of background work. Programs can register more (`operation/scheduler/job_kinds.py`)."""

    EXTRACT = "extract"  # facts, traits and profile from a segment's new pages
    READ_RECENT = "read_recent"  # the same from the pages of STM, where the talk has ended
    REPAIR = "repair"  # pages of a segment that belong elsewhere
    SWEEP = "sweep"  # bytes of attachments that nothing refers to any more
    ERASE = "erase"  # a memory whose deletion has to wait for the object store
    RETAIN = "retain"  # the memories of a scope get the ends that its changed retention rules say
    MERGE = "merge"  # the memories of a scope that say the same
    TRIM = "trim"  # the earlier versions of a cube that are not kept
    EXPIRE = "expire"  # the memories of a scope whose lifespan has ended
    BRANCH = "branch"  # the branches of a scope that have ended
    ACTIVATE = "activate"  # the KV state of a prefix
    ARCHIVE = "archive"  # the pages of a scope that were not used for as long as a rule says
    TRAIN = "train"  # the adapters of a scope that are wanted and not there
    TRANSFORM = "transform"  # a KV state or an adapter goes back to text


class JobState(Choice):
    """The state of a job."""

    QUEUED = "queued"  # waits to be done
    LEASED = "leased"  # a worker has it until the lease ends
    DONE = "done"  # done
    DEAD = "dead"  # failed too often; the cause is kept


class Mark(IntFlag):
    """Properties of a turn that do not depend on a question."""

    ASKS = 1  # it contains a question
    ENDS_ASKING = 2  # its last sentence is one
    # 4, that it mentions a time, is in stores of older versions; nothing reads it.
    BY_USER = 8  # a user said it who has no name here
    BY_ASSISTANT = 16  # an assistant said it who has no name here


UNMARKED = Mark(0)


COLD_TIER = "cold"  # in the place of `Tier.ARCHIVE` where pages are told apart by whether they can be read here
MERGED_TIER = (
    "merged"  # in the place of the tier of pages that others took in: only a search as of an earlier time finds them
)


class Extent(NamedTuple):
    """The place of a passage in its page."""

    turn: int  #: index of the turn in the page, from 0
    start: int = 0  #: its first character in the turn's words
    end: int | None = None  #: the character after its last one; None: the end of the turn


@dataclass(frozen=True, slots=True)
class Passage:
    """A turn of a page, or a part of a long turn, as search uses it."""

    vector: Vector  #: of unit length; stored as float16
    words: Sequence[str]  #: its words in lower case, as often as they occur
    said_at: datetime
    speaker: str | None = None
    marks: Mark = UNMARKED
    extent: Extent | None = None  #: None: the whole turn with the number of the passage

    @property
    def columns(self) -> PassageColumns:
        """The stored form of the passage."""
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

    def row(self, tenant: str, page: str, part: int) -> PassageRow:
        """The passage as part of a page, with its checksum."""
        columns = self.columns
        told = checksum.of_columns(part, columns)
        return {"tenant": tenant, "cube_id": page, "part": part, **columns, "checksum": told}


class PassageColumns(TypedDict):
    """The stored columns of a passage; as in `StoredPassage`."""

    said_at: int
    speaker: str | None
    marks: int
    words: str
    vector: bytes
    turn: int | None
    start: int | None
    end: int | None


class PassageRow(PassageColumns):
    """A new row of a passage."""

    tenant: str
    cube_id: str
    part: int
    checksum: int


class StoredPassage(NamedTuple):
    """A stored passage with facts about its page. There may be 100,000 of them, so it is a plain tuple."""

    page: str
    position: int  #: position of the page, in order of insertion
    part: int  #: number in the page, from 1; 0 if the page has no passages, and then only `tier` is set
    tier: str  #: or COLD_TIER for an archived page in a pack, MERGED_TIER for one that another took in
    session: str | None
    said_at: int  #: microseconds since the epoch
    speaker: str | None
    marks: int
    words: str  #: separated by spaces
    vector: bytes  #: little-endian float16
    tags: str | None = None  #: the labels of the page, as `labels_text` writes them
    expires_at: int | None = None  #: microseconds since the epoch; 0 once the page's state is expired
    segment: str | None = None  #: segment of the page
    turn: int | None = None  #: index of the turn in the page; None (older programs): the whole turn of that part
    start: int | None = None  #: offset in the turn's words
    end: int | None = None
    checksum: int | None = None  #: checksum of the row; None (older programs)

    @property
    def extent(self) -> Extent:
        """The place of the passage in its page."""
        return Extent(self.part - 1) if self.turn is None else Extent(self.turn, self.start or 0, self.end)


class Facet(NamedTuple):
    """The properties of a page that can change without its words."""

    tier: str  #: or COLD_TIER, MERGED_TIER
    tags: str | None = None  #: the labels, as `labels_text` writes them
    expires_at: int | None = None  #: microseconds since the epoch; 0 once the page's state is expired
    segment: str | None = None  #: segment of the page


def labels_text(cube: MemCube) -> str | None:
    """The labels of a cube as the store keeps them: a JSON list, or None if there are none."""
    return tags_text(labels_of(cube))


def alone(cube: MemCube) -> MemCube:
    """The cube without what it says of other pages: the summary of its chain."""
    payload = cube.payload
    if not isinstance(payload, Page) or not (payload.chain_summary or payload.chain_written):
        return cube
    return replace(cube, payload=replace(payload, chain_summary="", chain_written=""))


def tags_text(tags: Sequence[str]) -> str | None:
    """Labels as the store keeps them."""
    return json.dumps(tags, ensure_ascii=False) if tags else None


class PackedVersion(NamedTuple):
    """An earlier version as its difference to a newer one."""

    data: bytes
    base: int | None  #: the number of that one; None: to nothing
    checksum: int  #: of the document


@dataclass(frozen=True, slots=True)
class Entry:
    """A cube with what the indexes need to know about it.

    `vector` and `passages` are None if the cube has none (insert) or they did not change (update). A page has passages
    and no vector of its own in the store. `document`, `labels` and `rows` are made when they are written, unless they
    were made before.
    """

    cube: MemCube
    vector: Vector | None = None
    passages: Sequence[Passage] | None = None
    document: str | None = None  #: the cube as JSON
    labels: str | None = ""  #: the labels as they are stored; "": not made yet
    rows: Sequence[PassageRow] | None = None  #: the passages as they are stored
    packed: PackedVersion | None = None  #: of an earlier version, if it is stored without its document

    @property
    def prepared(self) -> Entry:
        """The entry with its document, labels and rows: to make them takes longer than to write them."""
        if self.document is not None and self.rows is not None:
            return self
        document = self.document or to_json(self.cube)
        return altered(self, document=document, labels=self.stored_labels, rows=self.passage_rows)

    @property
    def stored_labels(self) -> str | None:
        """The labels of the cube as they are stored."""
        return labels_text(self.cube) if self.labels == "" else self.labels

    @property
    def passage_rows(self) -> Sequence[PassageRow]:
        """The rows of the passages."""
        if self.rows is not None:
            return self.rows
        tenant, page = self.cube.scope.tenant, self.cube.id
        return [one.row(tenant, page, part) for part, one in enumerate(self.passages or (), 1)]

    @property
    def known_vector(self) -> Vector:
        """The vector of a cube that must have one."""
        if self.vector is None:
            raise StoreCorrupt(f"cube {self.cube.id} has no vector; rebuild the index or restore from a backup")
        return self.vector


class CubePlace(NamedTuple):
    """The position of a cube among those of its owner."""

    position: int
    id: str
    kind: Kind
    version: int


class Archived(NamedTuple):
    """An archived page as stored."""

    position: int  #: position in order of insertion
    id: str
    document: str  #: the cube as JSON; empty if it is damaged


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A cube without vectors of the new embedder, with its passages."""

    cube: MemCube
    passages: Sequence[StoredPassage]


@dataclass(frozen=True, slots=True)
class NewVectors:
    """The vectors of a cube from another embedder."""

    cube: MemCube
    whole: Vector  #: vector of the cube; for a page, its direction
    passages: Sequence[Vector] = ()  #: vectors of its passages, in order


@dataclass(frozen=True, slots=True)
class Link:
    """A directed, typed edge between two cubes of one tenant."""

    source: str
    kind: LinkKind
    target: str


@dataclass(frozen=True, slots=True)
class Event(Plain):
    """One line of the log: every change of a cube is one event."""

    sequence: int  #: number of the event; it only grows
    at: datetime  #: when the change was stored
    operation: Operation  #: what was done
    kind: Kind  #: kind of the cube
    cube_id: str  #: id of the cube
    version: int  #: version of the cube after the change
    detail: str | None = None  #: who made a version or a transition and why, or what undoing a repair needs, as JSON


@dataclass(frozen=True, slots=True)
class Job(Plain):
    """A unit of background work of one scope, about one of its cubes or about the scope."""

    id: str  #: id of the job, for `jobs.retry`
    kind: str  #: a JobKind or a registered kind
    cube_id: str | None  #: id of the memory that it is about; None: it is about the scope
    state: JobState  #: where it stands
    attempts: int  #: how often it was tried
    created_at: datetime  #: when it was added
    error: str | None = None  #: why the last try failed
    priority: int = 0  #: higher is done first
    not_before: datetime | None = None  #: waits until then; if it is leased, it was leased early
    payload: Mapping[str, Any] | None = None  #: JSON data for the handler

    @property
    def known_cube_id(self) -> str:
        """The cube id of a job that must have one."""
        return _known_cube(self)

    @property
    def is_planned(self) -> bool:
        """Whether the job is only due at some later day, so that nobody waits for it yet."""
        is_untouched = self.state is JobState.QUEUED and not self.attempts
        return is_untouched and not self.priority and self.not_before is not None


class CubeClass(NamedTuple):
    """What decides who may use a cube; a derived one is in a class for each page that it rests on."""

    scope: Scope
    kind: str
    labels: str | None  #: its own, as the store keeps them
    page_labels: str | None = None  #: those of the page


class AskedJob(NamedTuple):
    """A waiting or running job, without its history."""

    id: str
    kind: str
    cube_id: str | None
    priority: int
    state: str

    @property
    def known_cube_id(self) -> str:
        """The cube id of a job that must have one."""
        return _known_cube(self)


def _known_cube(job: Job | AskedJob) -> str:
    if job.cube_id is None:
        raise StoreCorrupt(f"job {job.id} ({job.kind}) has no memory: run `memoryos verify`")
    return job.cube_id


@dataclass(frozen=True, slots=True)
class Spending(Plain):
    """The usage of a model for one purpose on one day (UTC)."""

    day: date  #: day in UTC
    purpose: str  #: what the model was asked for
    model: str  #: name of the model
    calls: int  #: number of calls
    prompt_tokens: int  #: tokens that it read
    completion_tokens: int  #: tokens that it wrote
    cost: int = 0  #: millionths of the currency of the prices
    cached_tokens: int = 0  #: tokens of the prompts that the server, or a KV state, had already


@dataclass(frozen=True, slots=True)
class Census:
    """The number of cubes of each kind in each tier."""

    counts: Mapping[tuple[Kind, Tier], int]

    def of(self, kind: Kind, *tiers: Tier) -> int:
        """Return the number of cubes of that kind in those tiers (default: all tiers)."""
        return sum(
            count for (found, tier), count in self.counts.items() if found is kind and (not tiers or tier in tiers)
        )
