"""What a search returns: typed values with scores, the parts of each score, and provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from memoryos.choice import Choice
from memoryos.cube import MemCube, Page, Turn
from memoryos.operation.attachments.attached_file import AttachedFile, files_of
from memoryos.plain import Plain, plain


class Strategy(Choice):
    """How pages are found."""

    HYBRID = "hybrid"  # turns by their words and those around, meaning, speaker and place in the talk
    BM25 = "bm25"  # turns by exact words, for names and codes
    DENSE = "dense"  # turns by cosine
    RRF = "rrf"  # BM25 and cosine, by their ranks
    LINEAR = "linear"  # BM25 and cosine, by their scores, half each
    TWO_STAGE = "two_stage"  # segments by F_score, then their pages (MemoryOS paper, section 3.4)


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Hit(Plain):
    """A memory that was found, and why."""

    cube: MemCube
    score: float
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)  #: of the score, when asked
    segment: str | None = None  #: id of the page's segment, when it was found through one
    topic: str = ""  #: keywords of that segment
    mount: str | None = None  #: the mounted memory that it comes from; None is the own
    relevance: float | None = None  #: how likely it bears on the question, from 0 to 1; None where nobody asked

    @property
    def id(self) -> str:
        """The id of the cube."""
        return self.cube.id

    @property
    def text(self) -> str:
        """The memory in words."""
        return self.cube.text

    @property
    def at(self) -> datetime:
        """When it happened."""
        return self.cube.descriptive.event_at

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Ids in the source data."""
        return self.cube.descriptive.source_ids

    @property
    def provenance(self) -> tuple[str, ...]:
        """Ids of the memories that it was derived from; empty for what was said or stored as it is."""
        return self.cube.descriptive.provenance

    @property
    def attachments(self) -> tuple[AttachedFile, ...]:
        """What was sent along with it."""
        return files_of(self.cube)

    def to_dict(self) -> dict[str, Any]:
        """The memory with its score."""
        why = {"score": self.score, "relevance": self.relevance, "parts": dict(self.parts), "topic": self.topic}
        place = {"mount": self.mount, "segment": self.segment}
        files = {"attachments": plain(self.attachments)} if self.attachments else {}
        return {**self.cube.to_dict(), **why, **place, **files}


@dataclass(frozen=True, slots=True)
class TurnHit(Plain):
    """A turn of a page that was found, or a passage of a long one, and why."""

    cube: MemCube  #: its page
    index: int  #: of the turn in the page
    score: float
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)  #: of the score, when asked
    mount: str | None = None  #: the mounted memory that it comes from; None is the own
    start: int = 0  #: where the passage begins in the turn's words
    end: int | None = None  #: and where it ends; None is the end of the turn
    relevance: float | None = None  #: as of a Hit

    @property
    def turn(self) -> Turn:
        """What was said."""
        if not isinstance(self.cube.payload, Page):
            raise TypeError(f"cube {self.cube.id} is a {self.cube.kind.value}, not a page")
        return self.cube.payload.turns[self.index]

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
    def span(self) -> Span:
        """The characters of the turn's words that are the passage: where it begins, and where what follows does."""
        return self.start, len(self.turn.words) if self.end is None else self.end

    @property
    def is_part(self) -> bool:
        """Whether the turn says more than the passage."""
        return self.start > 0 or (self.end is not None and self.end < len(self.turn.words))

    @property
    def source_id(self) -> str | None:
        """Its id in the source data."""
        return self.turn.source_id

    def to_dict(self) -> dict[str, Any]:
        """The passage, its place in the turn, and the id of its page."""
        start, end = self.span
        place = {"page_id": self.cube.id, "turn": self.index, "start": start, "end": end, "source_id": self.source_id}
        said = {"role": self.turn.role.value, "speaker": self.turn.speaker, "at": plain(self.turn.at)}
        why = {"score": self.score, "relevance": self.relevance, "parts": dict(self.parts), "mount": self.mount}
        return {"text": self.text, **why, **place, **said}


def quoted(words: str, spans: Sequence[Span]) -> str:
    """Parts of some words, in order, with … where they go on."""
    before = spans and words[: spans[0][0]].strip()
    behind = spans and words[spans[-1][1] :].strip()
    parts = [words[start:end].strip() for start, end in spans]
    return ("… " if before else "") + " … ".join(parts) + (" …" if behind else "")


@dataclass(frozen=True, slots=True)
class Recall(Plain):
    """What a question brought back from the three tiers."""

    query: str
    hits: tuple[Hit, ...]  #: pages from STM, MTM and, unless told otherwise, the archive, best first
    turns: tuple[TurnHit, ...]  #: the passages of these pages that made them hits, best first; repetitions come last
    recent: tuple[Hit, ...]  #: all of STM, oldest first
    user_facts: tuple[Hit, ...]
    agent_facts: tuple[Hit, ...]
    profile: tuple[MemCube, ...]  #: the static fields of both personas
    traits: tuple[MemCube, ...]
    segments: tuple[Hit, ...] = ()  #: the topics that fit best; only when `kinds` asks for them
    chosen: tuple[str, ...] = ()  #: ids of the segments that `two_stage` retrieved, and took pages from
    knowledge: tuple[Hit, ...] = ()  #: facts from mounted memories
    missing: tuple[str, ...] = ()  #: the mounted memories that could not be searched
    ranked: tuple[Hit, ...] = ()  #: all of these but `recent` in one list, best first; empty for `context`
    confidence: float = 1.0  #: the probability that what was found bears on the question; 0 when there is nothing

    def to_dict(self) -> dict[str, Any]:
        """What was found; `ranked` says in which order, and by what."""
        found = {one.name: plain(getattr(self, one.name)) for one in fields(self) if one.name != "ranked"}
        order = [{"id": hit.id, "kind": hit.cube.kind.value, "relevance": hit.relevance} for hit in self.ranked]
        return {**found, "ranked": order}
