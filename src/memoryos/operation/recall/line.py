"""Line: one memory, or the part of a turn that matters, as a line of a text for a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from memoryos.cube import Fact, MemCube
from memoryos.kinds import Kind
from memoryos.language.calendar import spoken
from memoryos.language.quotation import label, said
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import Span, TurnHit, quoted
from memoryos.operation.recall.replaced import Replaced
from memoryos.operation.recall.stretches import Stretches
from memoryos.operation.recall.trust import outside_mark
from memoryos.plain import Plain, plain
from memoryos.text_cache import short_text_cache

ORIGIN_CHARS = 120  # of a title and of a source, each

Key = tuple[str, int | None]


class Section(StrEnum):
    """The parts of a text by their titles, in the order in which they stand."""

    USER = "About the user"
    AGENT = "About the assistant"
    SHARED = "Shared knowledge"
    TALK = "Conversation"


@dataclass(frozen=True, slots=True)
class Line(Plain):
    """One line of a context."""

    section: Section  #: the heading above it
    text: str  #: the line
    cube: MemCube = field(compare=False, repr=False)  #: what it is made of; its visits change from call to call
    turn: int | None = None  #: the number of its turn on the page; None when it is no turn
    spans: tuple[Span, ...] = ()  #: the characters of the turn's words that it holds, in order
    score: float = 0.0  #: the score of the search; 0 if it was not searched for
    is_ended: bool = False  #: whether it is a fact that was replaced; a turn does not tell that
    replaced: tuple[Replaced, ...] = field(default=(), compare=False, repr=False)  #: what its turn says that was

    def to_dict(self) -> dict[str, Any]:
        """The line, and which turn of which memory it is made of."""
        place = {"id": self.cube.id, "turn": self.turn, "spans": plain(self.spans)}
        return {"section": plain(self.section), "text": self.text, "score": self.score, **place}

    @property
    def key(self) -> Key:
        """The identity of the line, so that nothing is included twice."""
        return self.cube.id, self.turn

    @property
    def at(self) -> datetime:
        """When it was said."""
        said_at = None if self.turn is None else turns_of(self.cube)[self.turn].at
        return said_at or self.cube.descriptive.event_at

    @property
    def day(self) -> str:
        """The day under which it is listed; None if it is no turn."""
        return "" if self.turn is None else spoken(self.at)

    @property
    def source_ids(self) -> tuple[str, ...]:
        """Its ids in the source data."""
        if self.turn is None:
            return self.cube.descriptive.source_ids
        source = turns_of(self.cube)[self.turn].source_id
        return (source,) if source else ()

    @property
    def rests_on(self) -> tuple[str, ...]:
        """The ids of the pages that can stand for a fact; empty for a trait, a field or a fact that was replaced."""
        return self.cube.descriptive.provenance if self.cube.kind is Kind.FACT and not self.is_ended else ()

    @property
    def quote(self) -> str:
        """The words that a fact rests on; empty where they are not known."""
        return as_compared(self.cube.payload.quote) if isinstance(self.cube.payload, Fact) else ""

    @property
    def words(self) -> str:
        """The words of the turn that it holds, to be compared with quotes."""
        words = "" if self.turn is None else turns_of(self.cube)[self.turn].words
        return as_compared(" ".join(words[start:end] for start, end in self.spans))

    def with_spans(self, spans: Iterable[Span]) -> Line:
        """The line with these stretches of its turn."""
        if self.turn is None:
            return self
        return turn_line(self.section, self.cube, self.turn, spans, self.score, self.replaced)


@short_text_cache(2_048)
def as_compared(words: str) -> str:
    """Words without what copies of them differ in: case and white space."""
    return " ".join(words.casefold().split())


def turn_line(
    section: Section,
    cube: MemCube,
    number: int,
    spans: Iterable[Span],
    score: float = 0.0,
    replaced: tuple[Replaced, ...] = (),
) -> Line:
    """A turn, or these stretches of it, with notes on what it says that no longer holds."""
    turn = turns_of(cube)[number]
    held = Stretches.of(turn.words, spans).spans
    words = quoted(turn.words, held)
    text = " ".join([said(turn.speaker, turn.role.value, words), *notes(words, replaced)])
    return Line(
        section, f"{outside_mark(cube, turn)}{_origin(cube)}{text}", cube, number, held, score, replaced=replaced
    )


def notes(words: str, replaced: Iterable[Replaced]) -> list[str]:
    """The notes on these words of a turn: one for all that gave way to the same at the same time."""
    if not replaced:
        return []
    compared = as_compared(words)
    told = [one for one in replaced if one.quote and as_compared(one.quote) in compared]
    told.sort(key=lambda one: len(one.quote))
    return [one.note(words) for one in {one.end: one for one in told}.values()]


def _origin(cube: MemCube) -> str:
    """The title and source of its document."""
    told = label(filter(None, (cube.descriptive.title, cube.descriptive.source)), ORIGIN_CHARS)
    return f"{told} " if told else ""


def whole_turn(section: Section, cube: MemCube, number: int, replaced: tuple[Replaced, ...] = ()) -> Line:
    """All of a turn."""
    return turn_line(section, cube, number, [(0, len(turns_of(cube)[number].words))], replaced=replaced)


def hit_line(section: Section, hit: TurnHit, replaced: tuple[Replaced, ...] = ()) -> Line:
    """The line of a found turn."""
    return turn_line(section, hit.cube, hit.index, [hit.span], hit.score, replaced)
