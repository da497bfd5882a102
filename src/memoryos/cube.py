"""MemCube: one unit of memory, payload and metadata (MemOS paper, section 4.2).

A dialogue page, a topic segment, a fact, a trait, a KV cache and a LoRA adapter are all cubes, so
scope, versions, expiry, audit and deletion are written once. Cubes are frozen values: a change makes
a new value, and the vault decides what of the old one is kept. Enum values are the stored strings:
do not rename them. Heat is not a field: it depends on the moment it is asked for
(`operation.hierarchy.heat`).
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AwareDatetime, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from memoryos.errors import InvalidInput
from memoryos.kinds import (
    AccessMode,
    Decay,
    Kind,
    Level,
    MemoryType,
    Origin,
    Priority,
    Role,
    SemanticType,
    State,
    Subject,
    Tier,
)
from memoryos.lifecycle import PROPOSALS, CubeMark, untangled
from memoryos.plain import Plain, plain
from memoryos.scope import Scope

SCHEMA_VERSION: Literal[2] = 2  # of the JSON form; raise it when a field changes meaning

_Made = TypeVar("_Made")

_VALUE = ConfigDict(extra="forbid", allow_inf_nan=False)


def _explained(kind: type[_Made]) -> type[_Made]:
    """Let a class that callers make themselves raise InvalidInput for a wrong field."""
    make = kind.__init__

    @wraps(make)
    def checked(self: _Made, *args: Any, **fields: Any) -> None:
        try:
            make(self, *args, **fields)
        except ValidationError as error:
            place, problem = _first_fault(error)
            name = f"{kind.__name__.lower()}.{place}"
            raise InvalidInput(name, problem, f"See {kind.__module__}.{kind.__name__} for its fields") from None

    kind.__init__ = checked  # type: ignore[assignment,method-assign]
    return kind


def _first_fault(error: ValidationError) -> tuple[str, str]:
    """Where it is and what it is, without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    return ".".join(str(part) for part in first["loc"]), first["msg"]


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Attachment(Plain):
    """Something sent along with a turn; the caption is what can be remembered of it."""

    caption: str
    uri: str | None = None  #: a URL; or blob:SHA256/SIZE of bytes that the store keeps, see `pages.attachment`
    media_type: str | None = None


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Turn(Plain):
    """One message of a dialogue."""

    role: Role
    text: str = ""
    speaker: str | None = None  #: display name, when the role does not say it
    at: AwareDatetime | None = None  #: when it was said; None until the memory stores it
    source_id: str | None = None  #: id in the source data, such as a LoCoMo dia_id
    attachments: tuple[Attachment, ...] = ()

    @property
    def words(self) -> str:
        """The text and the captions: all that can be read in this turn."""
        if not self.attachments:  # nearly always, and this is asked for again and again
            return self.text
        return " ".join(part for part in (self.text, *(f"[{item.caption}]" for item in self.attachments)) if part)


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Page:
    """A dialogue page `{Q, R, T}` with its chain summary (MemoryOS paper, section 3.1).

    At most one user turn and one assistant turn; either may be missing. The chain link is a link in
    the vault, so that deleting a page cannot leave a dangling id here.
    """

    type: Literal[Kind.PAGE] = Kind.PAGE
    turns: tuple[Turn, ...]
    chain_summary: str = ""
    chain_written: str = ""  #: the part at its beginning that a model wrote, if one did; only a model takes its place

    @property
    def text(self) -> str:
        """The page as the embedder and a reader see it: one `speaker: words` line per turn."""
        return "\n".join(f"{turn.speaker or turn.role.value}: {turn.words}" for turn in self.turns)

    @property
    def said(self) -> str:
        """What was said, without who said it: what the page is about."""
        return "\n".join(turn.words for turn in self.turns)

    def turn_of(self, role: Role) -> Turn | None:
        """The turn of that role, or None."""
        return next((turn for turn in self.turns if turn.role is role), None)


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Segment:
    """A topic: what its pages have in common (MemoryOS paper, equation 2)."""

    type: Literal[Kind.SEGMENT] = Kind.SEGMENT
    summary: str
    keywords: tuple[tuple[str, int], ...]  #: keyword and number of pages that have it, most frequent first
    pages: int  #: how many pages belong to it
    first_at: AwareDatetime
    last_at: AwareDatetime
    written: str = ""  #: the part at the summary's beginning that a model wrote, if one did; only a model replaces it

    @property
    def text(self) -> str:
        """The summary."""
        return self.summary


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Fact:
    """A statement about the user or the agent, with the words that support it."""

    type: Literal[Kind.FACT] = Kind.FACT
    subject: Subject
    text: str
    quote: str = ""
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    wordings: tuple[str, ...] = ()  #: other words in which the same was said


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Trait:
    """A level on one dimension of the persona schema, and the reason for it."""

    type: Literal[Kind.TRAIT] = Kind.TRAIT
    subject: Subject
    dimension: str
    level: Level
    reason: str
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    counter: tuple[str, ...] = ()  #: those of its pages that speak against it
    changed_at: AwareDatetime | None = None  #: when the level last became another; None is never

    @property
    def text(self) -> str:
        """`Dimension (Level): reason`."""
        return f"{self.dimension} ({self.level.value}): {self.reason}"


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class ProfileField:
    """A static field of a persona, such as name, gender or birth year."""

    type: Literal[Kind.PROFILE] = Kind.PROFILE
    subject: Subject
    field: str
    value: str
    quote: str = ""

    @property
    def text(self) -> str:
        """`field: value`."""
        return f"{self.field}: {self.value}"


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Blob:
    """Binary content kept outside the cube's JSON."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    size_bytes: Annotated[int, Field(ge=0)]
    format: str  #: e.g. "safetensors"


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Activation:
    """A KV cache for `model`, valid for exactly the text it was computed from."""

    type: Literal[Kind.ACTIVATION] = Kind.ACTIVATION
    model: str
    text: str
    tokens: Annotated[int, Field(ge=0)]
    blob: Blob


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Parameter:
    """A parameter patch for `model`, such as a LoRA adapter."""

    type: Literal[Kind.PARAMETER] = Kind.PARAMETER
    model: str
    method: str  #: e.g. "lora"
    modules: tuple[str, ...]
    rank: Annotated[int, Field(ge=1)]
    blob: Blob
    text: str = ""  #: what the patch teaches, in words


Payload = Annotated[
    Page | Segment | Fact | Trait | ProfileField | Activation | Parameter,
    Field(discriminator="type"),
]


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Mention:
    """One time that a fact was said."""

    said: AwareDatetime
    source: str  #: the page; of what was stated outright, an id of its own
    at: AwareDatetime  #: the moment that it speaks of: 2019 in "I moved here in 2019"


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Descriptive:
    """What it is, when it happened and where it came from."""

    event_at: AwareDatetime  #: when it happened
    recorded_at: AwareDatetime  #: when this store first held it
    updated_at: AwareDatetime  #: when its content last changed
    origin: Origin
    semantic_type: SemanticType
    tags: tuple[str, ...] = ()
    metadata: str = ""  #: a JSON object; empty when there is none
    title: str | None = None  #: of the document that it is a part of
    source: str | None = None  #: where that is from
    source_ids: tuple[str, ...] = ()  #: ids in the source data
    provenance: tuple[str, ...] = ()  #: ids of the cubes it was derived from
    derived_by: str | None = None  #: rule set or model that derived it
    valid_from: AwareDatetime | None = None  #: a fact holds from here ...
    valid_to: AwareDatetime | None = None  #: ... until here; None is open
    mentions: tuple[Mention, ...] = ()  #: of a fact that excludes others, in order: what tells which of them holds


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Access:
    """Who may read, write and share; names are principals such as "agent:coder"."""

    mode: AccessMode = AccessMode.PRIVATE
    readers: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()
    sharers: tuple[str, ...] = ()


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Lifespan:
    """When it ends: a fixed moment, or by decay."""

    expires_at: AwareDatetime | None = None
    decay: Decay = Decay.NONE


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Governance:
    """What may be done with it."""

    access: Access = Access()
    lifespan: Lifespan = Lifespan()
    priority: Priority = Priority.NORMAL
    sensitivity: tuple[str, ...] = ()
    watermark: str | None = None


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Behaviour:
    """How it is used: the inputs of heat, and the contextual fingerprint."""

    last_access: AwareDatetime
    visits: Annotated[int, Field(ge=0)] = 0  #: N_visit: times retrieved
    interactions: Annotated[int, Field(ge=0)] = 0  #: L_interaction: pages since the last promotion
    fingerprint: tuple[str, ...] = ()  #: keywords of the content, K in F_score


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class Version:
    """The head of a version chain; older versions are in the vault's history."""

    number: Annotated[int, Field(ge=1)] = 1
    supersedes: str | None = None  #: id of the cube this one replaced
    superseded_by: str | None = None
    superseded_at: AwareDatetime | None = None  #: when this store learned that


@_explained
@dataclass(frozen=True, slots=True, kw_only=True, config=_VALUE)
class MemCube(Plain):
    """One memory: payload, scope, place in the hierarchy and metadata."""

    id: str
    scope: Scope
    tier: Tier
    payload: Payload
    descriptive: Descriptive
    behaviour: Behaviour
    state: State = State.GENERATED
    mark: CubeMark | None = None
    governance: Governance = Governance()
    version: Version = Version()
    schema_version: Literal[1, 2] = SCHEMA_VERSION

    @property
    def kind(self) -> Kind:
        """What this cube is."""
        return self.payload.type

    @property
    def memory_type(self) -> MemoryType:
        """Which of the three memory types it belongs to."""
        if self.kind is Kind.ACTIVATION:
            return MemoryType.ACTIVATION
        return MemoryType.PARAMETER if self.kind is Kind.PARAMETER else MemoryType.PLAINTEXT

    @property
    def is_proposal(self) -> bool:
        """Whether it is a fact that somebody has to decide on, or refused."""
        return self.mark in PROPOSALS

    @property
    def subject(self) -> Subject | None:
        """Whose persona it describes, if it describes one."""
        return self.payload.subject if isinstance(self.payload, Fact | Trait | ProfileField) else None

    @property
    def metadata(self) -> dict[str, Any]:
        """What the caller said of it."""
        return dict(json.loads(self.descriptive.metadata or "{}"))

    @property
    def text(self) -> str:
        """The content in words."""
        return self.payload.text

    @property
    def meaning(self) -> str:
        """The words whose embedding stands for this cube."""
        return self.payload.said if isinstance(self.payload, Page) else self.payload.text

    def to_dict(self) -> dict[str, Any]:
        """What a reader wants of it; a page's turns too. `memoryos.cube.to_json` writes all that is stored."""
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
            "source_ids": list(known.source_ids),
            "provenance": list(known.provenance),
            "quote": self.payload.quote if isinstance(self.payload, Fact) else None,
            "version": self.version.number,
            **({} if turns is None else {"turns": plain(turns)}),
        }

    def has_expired(self, now: datetime) -> bool:
        """Whether its life is over: by its state, or because its lifespan ended."""
        end = self.governance.lifespan.expires_at
        return self.state is State.EXPIRED or (end is not None and end <= now)

    def is_over(self, now: datetime) -> bool:
        """Whether the end that was stated for it has come since; what was over when it was said is told of the past."""
        end = self.descriptive.valid_to
        return end is not None and not self.version.superseded_by and self.descriptive.event_at < end <= now

    def moved(self, tier: Tier) -> MemCube:
        """This cube in another tier; its state stays what it is."""
        return replace(self, tier=tier)

    def visited(self, times: int, at: datetime) -> MemCube:
        """This cube after `times` more retrievals, the last one at `at`."""
        behaviour = replace(
            self.behaviour,
            visits=self.behaviour.visits + times,
            last_access=max(self.behaviour.last_access, at),
        )
        return replace(self, behaviour=behaviour)


_ADAPTER = TypeAdapter(MemCube)


def to_json(cube: MemCube) -> str:
    """The cube as JSON text; `from_json` gives back an equal value."""
    return _ADAPTER.dump_json(cube).decode()


def from_json(text: str | bytes) -> MemCube:
    """Read a cube back from JSON. Raises InvalidInput when it is not one."""
    try:
        cube = _ADAPTER.validate_json(text)
    except ValidationError as error:
        place, problem = _first_fault(error)
        raise InvalidInput(place or "cube", problem, "Pass the JSON that to_json wrote") from None
    return cube if cube.schema_version == SCHEMA_VERSION else _upgraded(cube)


def _upgraded(cube: MemCube) -> MemCube:
    state, mark = untangled(cube.kind, cube.tier, cube.state)
    return replace(cube, state=state, mark=mark, schema_version=SCHEMA_VERSION)
