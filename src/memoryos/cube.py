"""MemCube: one unit of memory, payload and metadata (MemOS paper, section 4.2).

A dialogue page, a topic segment, a fact, a trait, a KV cache and a LoRA adapter are all cubes, so scope, versions,
expiry, audit and deletion are written once. Cubes are frozen values: a change makes a new value, and the vault decides
what it keeps of the old one. Enum values are stored strings: do not rename them. Heat is not a field, because it
depends on the current time (`operation.hierarchy.heat`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import SchemaSerializer, SchemaValidator

from memoryos.built_memory import Activation as Activation
from memoryos.built_memory import Blob as Blob
from memoryos.built_memory import Parameter as Parameter
from memoryos.errors import InvalidInput
from memoryos.explained import VALUE, altered, explained
from memoryos.kinds import (
    AccessMode,
    Kind,
    Level,
    MemoryType,
    Origin,
    Role,
    SemanticType,
    State,
    Subject,
    Tier,
)
from memoryos.lifecycle import PROPOSALS, CubeMark, EndByRule, untangled
from memoryos.plain import Plain, bare, plain
from memoryos.refusal import Refusal
from memoryos.retired import WithRetired, may_have_retired, unasked
from memoryos.scope import Scope

SCHEMA_VERSION: Literal[2] = 2  # of the JSON form; raise it when a field changes meaning

MOST_VERSIONS = 2**31 - 1  # as stores can count


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Attachment(Plain):
    """Something sent along with a turn. Searches find it by its caption."""

    caption: str  #: what searches find it by
    uri: str | None = None  #: a URL, or blob:SHA256/SIZE for bytes in the store (see `pages.attachment`)
    media_type: str | None = None  #: for example image/png, if known


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Turn(Plain):
    """One message of a dialogue."""

    role: Role  #: who speaks
    text: str = ""  #: what was said
    speaker: str | None = None  #: display name, if it differs from the role
    at: AwareDatetime | None = None  #: when it was said; None until the memory stores it
    source_id: str | None = None  #: id in the source data, such as a LoCoMo dia_id
    attachments: tuple[Attachment, ...] = ()  #: what was sent along

    @property
    def words(self) -> str:
        """The text and the captions: all readable words of this turn."""
        if not self.attachments:  # nearly always, and this is asked for again and again
            return self.text
        return " ".join(part for part in (self.text, *(f"[{item.caption}]" for item in self.attachments)) if part)


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Page:
    """A dialogue page `{Q, R, T}` with its chain summary (MemoryOS paper, section 3.1).

    At most one user turn and one response of the assistant, whose turns may have tool turns between them; either may be
    missing. The chain link is a link in the vault, so that deleting a page cannot leave a dangling id here.
    """

    type: Literal[Kind.PAGE] = Kind.PAGE  #: the kind
    turns: tuple[Turn, ...]  #: what was said, in order
    chain_summary: str = ""  #: what the talk up to here was about
    chain_written: str = ""  #: the first part, if a model wrote it; only a model replaces it

    @property
    def text(self) -> str:
        """The page as text: one `speaker: words` line per turn, for the embedder and for readers."""
        return "\n".join(f"{turn.speaker or turn.role.value}: {turn.words}" for turn in self.turns)

    @property
    def said(self) -> str:
        """The words without the speakers."""
        return "\n".join(turn.words for turn in self.turns)

    def turn_of(self, role: Role) -> Turn | None:
        """The last turn with that role, or None. The last of the assistant is its answer."""
        return next((turn for turn in reversed(self.turns) if turn.role is role), None)


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Segment:
    """A topic: what its pages have in common (MemoryOS paper, equation 2)."""

    type: Literal[Kind.SEGMENT] = Kind.SEGMENT  #: the kind
    summary: str  #: what its pages are about
    keywords: tuple[tuple[str, int], ...]  #: each keyword with its number of pages, most frequent first
    pages: int  #: number of pages
    first_at: AwareDatetime  #: time of its first page
    last_at: AwareDatetime  #: time of its latest page
    written: str = ""  #: the first part of the summary, if a model wrote it; only a model replaces it

    @property
    def text(self) -> str:
        """The summary."""
        return self.summary


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Fact:
    """A statement about the user or the agent, with the words that support it."""

    type: Literal[Kind.FACT] = Kind.FACT  #: the kind
    subject: Subject  #: whom it is about
    text: str  #: the statement
    quote: str = ""  #: words that support it
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0  #: of the rule or model that found it, 0 to 1
    wordings: tuple[str, ...] = ()  #: other wordings of the same fact


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Trait:
    """A level on one dimension of the persona schema, with the reason for it."""

    type: Literal[Kind.TRAIT] = Kind.TRAIT  #: the kind
    subject: Subject  #: whom it describes
    dimension: str  #: of the persona schema
    level: Level  #: on the dimension
    reason: str  #: why, in a sentence
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0  #: of the rule or model that found it, 0 to 1
    counter: tuple[str, ...] = ()  #: ids of the pages that contradict it
    changed_at: AwareDatetime | None = None  #: when the level last changed; None: never

    @property
    def text(self) -> str:
        """`Dimension (Level): reason`."""
        return f"{self.dimension} ({self.level.value}): {self.reason}"


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class ProfileField:
    """A static field of a persona, such as name, gender or birth year."""

    type: Literal[Kind.PROFILE] = Kind.PROFILE  #: the kind
    subject: Subject  #: whom it describes
    field: str  #: name of the field
    value: str  #: its value
    quote: str = ""  #: words that support it

    @property
    def text(self) -> str:
        """`field: value`."""
        return f"{self.field}: {self.value}"


_OF_PERSONAS = (Fact, Trait, ProfileField)

Payload = Annotated[
    Page | Segment | Fact | Trait | ProfileField | Activation | Parameter,
    Field(discriminator="type"),
]


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Mention:
    """One occasion on which a fact was said."""

    said: AwareDatetime  #: when it was said
    source: str  #: id of the page, or a new id for a fact that the caller stated
    at: AwareDatetime  #: the time that it is about: 2019 in "I moved here in 2019"


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Descriptive:
    """Labels, times, sources and other descriptive metadata."""

    event_at: AwareDatetime  #: when it happened
    recorded_at: AwareDatetime  #: when this store first held it
    updated_at: AwareDatetime  #: when its content last changed
    origin: Origin  #: how it came here
    semantic_type: SemanticType  #: what it means to a reader
    tags: tuple[str, ...] = ()  #: labels for filters
    metadata: str = ""  #: a JSON object; empty when there is none
    title: str | None = None  #: title of its document
    source: str | None = None  #: origin of its document
    source_ids: tuple[str, ...] = ()  #: ids in the source data
    provenance: tuple[str, ...] = ()  #: ids of the cubes it was derived from
    derived_by: str | None = None  #: rule set or model that derived it
    valid_from: AwareDatetime | None = None  #: a fact is valid from here ...
    valid_to: AwareDatetime | None = None  #: ... until here; None: no end
    mentions: tuple[Mention, ...] = ()  #: for facts that exclude each other, in order; they decide which is valid


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Access(WithRetired):
    """What policies may let others do with the cube. Who may do so is in the policies, and not in the cube."""

    mode: AccessMode = AccessMode.PRIVATE  #: private, shared or read_only


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Lifespan(WithRetired):
    """When the cube ends."""

    expires_at: AwareDatetime | None = None  #: after this it is never found; None: no end
    rule: EndByRule | None = None  #: the retention rule that sets `expires_at`; None: the caller did

    @property
    def own_end(self) -> datetime | None:
        """The end that the caller gave the cube."""
        return self.expires_at if self.rule is None else self.rule.own_end


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Governance(WithRetired):
    """State, access and lifespan: what may be done with the cube."""

    access: Access = Access()  #: who may do what
    lifespan: Lifespan = Lifespan()  #: when it ends
    sensitivity: tuple[str, ...] = ()  #: what makes it sensitive, such as diagnosis


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Behaviour:
    """How the cube is used: the inputs of heat, and the contextual fingerprint."""

    last_access: AwareDatetime  #: when it was last retrieved or added to
    visits: Annotated[int, Field(ge=0)] = 0  #: N_visit: times retrieved
    interactions: Annotated[int, Field(ge=0)] = 0  #: L_interaction: pages since the last promotion
    fingerprint: tuple[str, ...] = ()  #: keywords of the content, K in F_score


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class Version:
    """The head of a version chain; older versions are in the vault's history."""

    number: Annotated[int, Field(ge=1, le=MOST_VERSIONS)] = 1  #: 1, and one more with each change
    supersedes: str | None = None  #: id of the cube this one replaced
    superseded_by: str | None = None  #: id of the cube that replaced this one
    superseded_at: AwareDatetime | None = None  #: when this store learned that


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class MemCube(Plain):
    """One memory: payload, scope, place in the hierarchy and metadata."""

    id: str  #: id, for `get`, `update` and `delete`
    scope: Scope  #: whose it is
    tier: Tier  #: its place: stm, mtm, lpm or archive
    payload: Payload  #: the content, by kind
    descriptive: Descriptive  #: times, sources, tags and other labels
    behaviour: Behaviour  #: how often it was used
    state: State = State.GENERATED  #: what may be done with it
    mark: CubeMark | None = None  #: chained, proposed, rejected or withdrawn; None: no note
    governance: Governance = Governance()  #: access and expiry
    version: Version = Version()  #: its number, and what it replaced
    schema_version: Literal[1, 2] = SCHEMA_VERSION  #: version of the JSON form

    @property
    def kind(self) -> Kind:
        """The kind of cube, such as page or fact."""
        return self.payload.type

    @property
    def memory_type(self) -> MemoryType:
        """The memory type: plaintext, activation or parameter."""
        if self.kind is Kind.ACTIVATION:
            return MemoryType.ACTIVATION
        return MemoryType.PARAMETER if self.kind is Kind.PARAMETER else MemoryType.PLAINTEXT

    @property
    def is_proposal(self) -> bool:
        """Whether this fact is a proposal that waits for a decision or was rejected."""
        return self.mark in PROPOSALS

    @property
    def is_withdrawn(self) -> bool:
        """Whether it was learned from words that were corrected since: only snapshots show it."""
        return self.mark is CubeMark.WITHDRAWN

    @property
    def is_document(self) -> bool:
        """Whether this page is a document or a part of one, by its title or source: nobody says it of themselves."""
        return self.kind is Kind.PAGE and bool(self.descriptive.title or self.descriptive.source)

    @property
    def number(self) -> int:
        """The number of this version; of an adapter, that of the training."""
        return self.payload.number if isinstance(self.payload, Parameter) else self.version.number

    @property
    def subject(self) -> Subject | None:
        """The subject of the persona that the cube describes, or None."""
        return self.payload.subject if isinstance(self.payload, _OF_PERSONAS) else None

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the caller passed."""
        return dict(json.loads(self.descriptive.metadata or "{}"))

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.descriptive.event_at

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that the caller passed."""
        return self.descriptive.tags

    @property
    def title(self) -> str | None:
        """The title of its document."""
        return self.descriptive.title

    @property
    def source(self) -> str | None:
        """The origin of its document."""
        return self.descriptive.source

    @property
    def text(self) -> str:
        """The content as text."""
        return self.payload.text

    @property
    def meaning(self) -> str:
        """The text that is embedded for this cube."""
        return self.payload.said if isinstance(self.payload, Page) else self.payload.text

    def to_dict(self) -> dict[str, Any]:
        """Return the main fields, and the turns of a page. `memoryos.cube.to_json` writes everything that is stored.

        `access` and `sensitivity` are those of the memory itself: policies also ask for those of what it rests on,
        which may be stricter.
        """
        known, turns = self.descriptive, self.payload.turns if isinstance(self.payload, Page) else None
        return {
            "id": self.id,
            "kind": self.kind.value,
            "tier": self.tier.value,
            "state": self.state.value,
            "text": self.text,
            "at": known.event_at.isoformat(),
            "recorded_at": known.recorded_at.isoformat(),
            "subject": plain(self.subject),
            "scope": self.scope.to_dict(),
            "tags": list(known.tags),
            "metadata": self.metadata,
            "title": known.title,
            "source": known.source,
            "expires_at": plain(self.governance.lifespan.expires_at),
            "access": self.governance.access.mode.value,
            "sensitivity": list(self.governance.sensitivity),
            "source_ids": list(known.source_ids),
            "provenance": list(known.provenance),
            "quote": self.payload.quote if isinstance(self.payload, Fact) else None,
            "version": self.number,
            **({} if turns is None else {"turns": plain(turns)}),
        }

    def has_expired(self, now: datetime) -> bool:
        """Whether the cube has expired, by its state or by its lifespan. What is frozen does not expire."""
        if self.state is State.FROZEN:
            return False
        end = self.governance.lifespan.expires_at
        return self.state is State.EXPIRED or (end is not None and end <= now)

    @property
    def is_frozen(self) -> bool:
        """Whether nothing may change the cube until it is thawed."""
        return self.state is State.FROZEN

    @property
    def is_absorbed(self) -> bool:
        """Whether it is a page whose place an equal page took; facts that others replaced are in the archive."""
        return self.state is State.MERGED and self.kind is Kind.PAGE

    @property
    def is_read_only(self) -> bool:
        """Whether the cube keeps its words."""
        return self.governance.access.mode is AccessMode.READ_ONLY

    def is_over(self, now: datetime) -> bool:
        """Whether the fact was valid when it was stated, and its stated end has passed since.

        A fact that was already over when it was stated is a fact about the past.
        """
        end = self.descriptive.valid_to
        return end is not None and not self.version.superseded_by and self.descriptive.event_at < end <= now

    def moved(self, tier: Tier) -> MemCube:
        """Return this cube in another tier, with the same state."""
        return altered(self, tier=tier)

    def visited(self, times: int, at: datetime) -> MemCube:
        """Return this cube after `times` more retrievals, the last one at `at`. Use activates it."""
        behaviour = altered(
            self.behaviour,
            visits=self.behaviour.visits + times,
            last_access=max(self.behaviour.last_access, at),
        )
        is_idle = self.state in (State.GENERATED, State.ARCHIVED)
        return altered(self, behaviour=behaviour, state=State.ACTIVATED if is_idle else self.state)


def ends_earlier(before: MemCube, after: MemCube) -> bool:
    """Whether a memory gets an end of its own, or an earlier one."""
    known, new = (one.governance.lifespan.own_end for one in (before, after))
    return new is not None and (known is None or new < known)


def is_opened(before: MemCube, after: MemCube) -> bool:
    """Whether more may be done with a memory: others may see it, or its words may be changed."""
    known, new = (one.governance.access.mode for one in (before, after))
    return new.openness > known.openness or (before.is_read_only and not after.is_read_only)


@cache
def _adapter() -> TypeAdapter[MemCube]:
    return TypeAdapter(MemCube)


@cache
def _reader() -> SchemaValidator:
    return SchemaValidator(unasked(_adapter().core_schema))


@cache
def _writer() -> SchemaSerializer:
    return SchemaSerializer(bare(_adapter().core_schema))


def to_json(cube: MemCube) -> str:
    """Return the cube as JSON text; `from_json` restores an equal value."""
    return _writer().to_json(cube).decode()


def from_json(text: str | bytes) -> MemCube:
    """Read a cube from JSON. Raises InvalidInput if the text is not a cube."""
    try:
        cube = _read(text)
    except ValidationError as error:
        refusal = Refusal.of(error)
        raise InvalidInput(refusal.place or "cube", refusal.problem, "Pass the JSON that to_json wrote") from None
    return cube if cube.schema_version == SCHEMA_VERSION else _upgraded(cube)


def _read(text: str | bytes) -> MemCube:
    """Read a cube: as its classes would, which ask a function for each part that older programs wrote otherwise."""
    if not may_have_retired(text):
        try:
            cube: MemCube = _reader().validate_json(text)
        except ValidationError:  # the classes say what is wrong
            pass
        else:
            return cube
    return _adapter().validate_json(text)


def _upgraded(cube: MemCube) -> MemCube:
    state, mark = untangled(cube.kind, cube.tier, cube.state)
    return replace(cube, state=state, mark=mark, schema_version=SCHEMA_VERSION)
