"""Hits: what a search returns, with scores, the parts of each score, and provenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from itertools import accumulate
from typing import Any

from memoryos.choice import Choice
from memoryos.cube import Fact, MemCube, Page, Turn
from memoryos.kinds import AccessMode, Kind, Role, State, Subject, Tier
from memoryos.operation.attachments.attached_file import AttachedFile, files_of
from memoryos.plain import Plain, plain
from memoryos.regex import regex
from memoryos.scope import Scope


class Strategy(Choice):
    """How pages are found."""

    HYBRID = "hybrid"  # turns by their words and those around, meaning, speaker and place in the talk
    BM25 = "bm25"  # turns by exact words, for names and codes
    DENSE = "dense"  # turns by cosine
    RRF = "rrf"  # BM25 and cosine, by their ranks
    LINEAR = "linear"  # BM25 and cosine, by their scores, half each
    TWO_STAGE = "two_stage"  # segments by F_score, then their pages (MemoryOS paper, section 3.4)


Span = tuple[int, int]

INK = regex(r"\S")
LEFT_OUT = "…"  #: where words are left out
LONG = 4_000  # characters of a turn: of a longer one, the data of a search have the passages that were found
_BEGINNING = 500  # characters of a longer one of which nothing was found


@dataclass(frozen=True, slots=True)
class Hit(Plain):
    """A found memory with its score."""

    cube: MemCube  #: the memory
    score: float  #: how well it fits the question; higher is better, comparable within one search only
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)  #: the parts of the score, with `explain`
    segment: str | None = None  #: id of the page's segment, if it was found through one
    topic: str = ""  #: keywords of that segment
    mount: str | None = None  #: name of the mount; None for this memory
    relevance: float | None = None  #: probability that it bears on the question, 0 to 1; None if it was not computed

    @property
    def id(self) -> str:
        """The id of the cube."""
        return self.cube.id

    @property
    def kind(self) -> Kind:
        """The kind of the memory, such as page or fact."""
        return self.cube.kind

    @property
    def tier(self) -> Tier:
        """The place of the memory in the hierarchy."""
        return self.cube.tier

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the memory."""
        return self.cube.descriptive.tags

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the caller passed."""
        return self.cube.metadata

    @property
    def title(self) -> str | None:
        """The title of its document."""
        return self.cube.descriptive.title

    @property
    def source(self) -> str | None:
        """The origin of its document."""
        return self.cube.descriptive.source

    @property
    def text(self) -> str:
        """The memory as text: of a page all of it, also if it is a long document; `Recall.turns` has the passages."""
        return self.cube.text

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.cube.descriptive.event_at

    @property
    def scope(self) -> Scope:
        """The owner of the memory, and its session."""
        return self.cube.scope

    @property
    def state(self) -> State:
        """What may be done with the memory."""
        return self.cube.state

    @property
    def version(self) -> int:
        """How often it was written: 1 for a memory that was never corrected."""
        return self.cube.version.number

    @property
    def subject(self) -> Subject | None:
        """Whom a fact, a trait or a profile field describes; None for the others."""
        return self.cube.subject

    @property
    def quote(self) -> str | None:
        """The words that a fact rests on; None for the others."""
        return self.cube.payload.quote if isinstance(self.cube.payload, Fact) else None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of a page; empty for the others."""
        return self.cube.payload.turns if isinstance(self.cube.payload, Page) else ()

    @property
    def recorded_at(self) -> datetime:
        """When this store first held it."""
        return self.cube.descriptive.recorded_at

    @property
    def expires_at(self) -> datetime | None:
        """When it expires; None: never."""
        return self.cube.governance.lifespan.expires_at

    @property
    def access(self) -> AccessMode:
        """Whether the memory itself is private, shared or read-only; its sources may be stricter."""
        return self.cube.governance.access.mode

    @property
    def sensitivity(self) -> tuple[str, ...]:
        """The labels of sensitivity of the memory itself; its sources may have more."""
        return self.cube.governance.sensitivity

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The ids in the source data."""
        return self.cube.descriptive.source_ids

    @property
    def provenance(self) -> tuple[str, ...]:
        """The ids of the memories from which it was derived; empty for pages and stated facts."""
        return self.cube.descriptive.provenance

    @property
    def attachments(self) -> tuple[AttachedFile, ...]:
        """The attachments of the memory."""
        return files_of(self.cube)

    def to_dict(self) -> dict[str, Any]:
        """Return the memory with its score."""
        why = {"score": self.score, "relevance": self.relevance, "parts": dict(self.parts), "topic": self.topic}
        place = {"mount": self.mount, "segment": self.segment}
        files = {"attachments": plain(self.attachments)} if self.attachments else {}
        return {**self.cube.to_dict(), **why, **place, **files}


@dataclass(frozen=True, slots=True)
class TurnHit(Plain):
    """A found turn of a page, or a passage of a long turn, with its score."""

    cube: MemCube  #: the page
    index: int  #: index of the turn in the page
    score: float  #: how well it fits the question; higher is better
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)  #: the parts of the score, with `explain`
    mount: str | None = None  #: name of the mount; None for this memory
    start: int = 0  #: start of the passage in the turn's words
    end: int | None = None  #: end of the passage; None: the end of the turn
    relevance: float | None = None  #: probability that it bears on the question, 0 to 1; None if it was not computed

    @property
    def turn(self) -> Turn:
        """The turn."""
        if not isinstance(self.cube.payload, Page):
            raise TypeError(f"cube {self.cube.id} is a {self.cube.kind.value}, not a page")
        return self.cube.payload.turns[self.index]

    @property
    def page_id(self) -> str:
        """The id of the page."""
        return self.cube.id

    @property
    def role(self) -> Role:
        """The role of the speaker."""
        return self.turn.role

    @property
    def speaker(self) -> str | None:
        """The display name of the speaker, if it differs from the role."""
        return self.turn.speaker

    @property
    def at(self) -> datetime | None:
        """When it was said."""
        return self.turn.at

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the page."""
        return self.cube.descriptive.tags

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata of the page."""
        return self.cube.metadata

    @property
    def text(self) -> str:
        """The words of the passage."""
        return self.turn.words[self.start : self.end]

    @property
    def titled(self) -> str:
        """The words of the passage, after the title of the document that it is from."""
        title = self.cube.descriptive.title
        return f"{title}\n{self.text}" if title else self.text

    @property
    def quoted(self) -> str:
        """The words of the passage, with … where the turn goes on."""
        return quoted(self.turn.words, [self.span])

    @property
    def span(self) -> tuple[int, int]:
        """The start and end of the passage in the words of the turn, in characters."""
        return self.start, len(self.turn.words) if self.end is None else self.end

    @property
    def is_part(self) -> bool:
        """Whether the passage is only a part of the turn."""
        return self.start > 0 or (self.end is not None and self.end < len(self.turn.words))

    @property
    def source_id(self) -> str | None:
        """The id of the turn in the source data."""
        return self.turn.source_id

    def to_dict(self) -> dict[str, Any]:
        """Return the passage, its position in the turn, and the id of its page."""
        start, end = self.span
        place = {"page_id": self.cube.id, "turn": self.index, "start": start, "end": end, "source_id": self.source_id}
        said = {"role": self.turn.role.value, "speaker": self.turn.speaker, "at": plain(self.turn.at)}
        why = {"score": self.score, "relevance": self.relevance, "parts": dict(self.parts), "mount": self.mount}
        return {"text": self.text, **why, **place, **said}


# `replace` takes five times as long, and a search judges many hits.
def judged_hit(hit: Hit, relevance: float) -> Hit:
    """The hit with that relevance."""
    return Hit(hit.cube, hit.score, hit.parts, hit.segment, hit.topic, hit.mount, relevance)


def judged_turn(hit: TurnHit, relevance: float) -> TurnHit:
    """The same for a turn."""
    return TurnHit(hit.cube, hit.index, hit.score, hit.parts, hit.mount, hit.start, hit.end, relevance)


def quoted(words: str, spans: Sequence[Span]) -> str:
    """Join parts of a text in order, with … where the text goes on."""
    before = spans and INK.search(words, 0, spans[0][0])
    behind = spans and INK.search(words, spans[-1][1])
    parts = [words[start:end].strip() for start, end in spans]
    return f" {LEFT_OUT} ".join([*([""] if before else []), *parts, *([""] if behind else [])]).strip()


@dataclass(frozen=True, slots=True)
class Recall(Plain):
    """The result of a search: hits from STM, MTM, LPM and the archive, by kind and in one ranked list."""

    query: str  #: the question
    hits: tuple[Hit, ...]  #: pages from STM, MTM and (by default) the archive, best first
    turns: tuple[TurnHit, ...]  #: the passages of these pages that match, best first; repetitions come last
    recent: tuple[Hit, ...]  #: all pages of STM, oldest first
    user_facts: tuple[Hit, ...]  #: facts about the user, best first
    agent_facts: tuple[Hit, ...]  #: facts about the agent, best first
    profile: tuple[MemCube, ...]  #: the static fields of both personas
    traits: tuple[MemCube, ...]  #: levels on the dimensions of both personas
    segments: tuple[Hit, ...] = ()  #: the best topics; only if `kinds` includes segments
    chosen: tuple[str, ...] = ()  #: ids of the segments from which `two_stage` took pages
    knowledge: tuple[Hit, ...] = ()  #: facts from mounted memories
    missing: tuple[str, ...] = ()  #: mounts that could not be searched
    ranked: tuple[Hit, ...] = ()  #: all hits except `recent` in one list, best first; empty in a context
    confidence: float = 1.0  #: probability that the result bears on the question; 0 if it is empty

    def to_dict(self) -> dict[str, Any]:
        """Return the hits; `ranked` has their order and scores, and a long turn is told by its passages."""
        found = {one.name: self._data(one.name) for one in fields(self) if one.name != "ranked"}
        order = [{"id": hit.id, "kind": hit.cube.kind.value, "relevance": hit.relevance} for hit in self.ranked]
        return {**found, "ranked": order}

    def _data(self, name: str) -> Any:
        told = getattr(self, name)
        return [page_data(hit, self.turns) for hit in told] if name in ("hits", "recent") else plain(told)


def page_data(hit: Hit, turns: Iterable[TurnHit]) -> dict[str, Any]:
    """A page as data. Of a long turn, it has what was found, and where that is in its words (`spans`).

    Then `is_whole` is False: `get` returns the whole page.
    """
    told = hit.to_dict()
    long = {number for number, turn in enumerate(hit.turns) if len(turn.words) > LONG}
    if not long:
        return told
    found = [turn for turn in turns if turn.page_id == hit.id]
    said = [
        one | _passages(turn.words, [hit.span for hit in found if hit.index == number]) if number in long else one
        for number, (one, turn) in enumerate(zip(told["turns"], hit.turns, strict=True))
    ]
    text = "\n".join(
        f"{turn.speaker or turn.role.value}: {one['text'] if number in long else turn.words}"
        for number, (one, turn) in enumerate(zip(said, hit.turns, strict=True))
    )
    return told | {"text": text, "turns": said, "is_whole": False}


def _passages(words: str, spans: Sequence[Span]) -> dict[str, Any]:
    """What was found of a long turn, best first until it is long again; its beginning, if that is nothing."""
    best = sorted(span for span, end in zip(spans, _ends(spans), strict=True) if end <= LONG)
    kept: list[Span] = []
    for span in best or [(0, _BEGINNING)]:
        is_next = bool(kept) and not INK.search(words, kept[-1][1], span[0])
        kept.append((kept.pop()[0], span[1]) if is_next else span)
    return {"text": quoted(words, kept), "spans": plain(kept)}


def _ends(spans: Sequence[Span]) -> Iterator[int]:
    """How long the spans are together, up to each."""
    return accumulate(end - start for start, end in spans)
