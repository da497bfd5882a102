"""Unsaid: what a line tells that a text does not hold yet.

A page may say one thing many times, and would fill a small text with it. A sentence is told again if the same speaker
has said it in another line of the same page, in answer to the same question, and, if it mentions a time, on the same
day; a short one ("Okay.") only if the same turn has it. A line that mostly repeats is cut to its new sentences, and
left out if it has none. What another page says is told: it happened again, or is about something else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from memoryos.language.marks import asks, mentions_time
from memoryos.language.sentences import sentence_bounds
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.recall.hit import Span
from memoryos.operation.recall.line import Line, as_compared
from memoryos.operation.recall.repetition import SHORT
from memoryos.text_cache import short_text_cache

_MARKS = " .,;:!。，、；：！"  # behind a sentence; a question mark makes another one
_MOSTLY = 0.5  # share of a line in sentences that are told again, from which on it is cut


@dataclass(slots=True)
class ToldSentences:
    """The sentences of the turns that a text holds."""

    _words: set[str] = field(default_factory=set)
    _sayings: set[Hashable] = field(default_factory=set)
    _lines: dict[str, list[Line]] = field(default_factory=dict)  # by words, those whose saying nobody asked for yet
    _split: dict[Hashable, Sequence[tuple[Span, str]]] = field(default_factory=dict)  # lines are looked at often

    def unsaid(self, line: Line) -> Line | None:
        """The line without what it repeats, if that is most of it; None if nothing is new."""
        if line.turn is None:
            return line
        sentences = self._sentences(line)
        words = {said for _, said in sentences}
        if len(words) == len(sentences) and self._words.isdisjoint(words):
            return line  # as nearly all
        fresh = list(self._fresh(line, sentences))
        if _length(fresh) > (1 - _MOSTLY) * _length([span for span, _ in sentences]):
            return line
        return line.with_spans(fresh) if fresh else None

    def add(self, line: Line) -> None:
        """Record the sentences of a line that stands in the text now."""
        for _, said in self._sentences(line):
            self._words.add(said)
            self._lines.setdefault(said, []).append(line)

    def _sentences(self, line: Line) -> Sequence[tuple[Span, str]]:
        place = line.key, line.spans
        if (split := self._split.get(place)) is None:
            split = self._split[place] = list(_sentences(line))
        return split

    def _fresh(self, line: Line, sentences: Sequence[tuple[Span, str]]) -> Iterator[Span]:
        """Where the sentences are that neither the text has nor the line before them."""
        seen: set[Hashable] = set()
        for span, said in sentences:
            self._sayings.update(_saying(told, said) for told in self._lines.pop(said, ()))
            saying = _saying(line, said)
            if saying not in self._sayings and saying not in seen:
                yield span
            seen.add(saying)


def _sentences(line: Line) -> Iterator[tuple[Span, str]]:
    """The sentences of a turn's line: where they are in the turn, and their words as they are compared."""
    words = "" if line.turn is None else turns_of(line.cube)[line.turn].words
    for start, end in line.spans:
        for first, last, said in _split(words[start:end]):
            yield (start + first, start + last), said


@short_text_cache(2_048)
def _split(words: str) -> Sequence[tuple[int, int, str]]:
    """Where each sentence begins and ends, and its words as they are compared."""
    compared = ((first, last, as_compared(words[first:last]).rstrip(_MARKS)) for first, last in sentence_bounds(words))
    return tuple(sentence for sentence in compared if sentence[2])


def _saying(line: Line, said: str) -> Hashable:
    """The key that sentences share which tell the same."""
    if len(said.encode()) < SHORT:
        return line.key, said
    number = line.turn or 0
    turns = turns_of(line.cube)
    before = turns[number - 1].words if number else ""
    question = as_compared(before) if asks(before) else ""
    day = line.day if mentions_time(said) else None
    return line.cube.id, turns[number].speaker or turns[number].role, said, question, day


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)
