"""Draft: a text that takes lines until its token budget is used; titles and dates count too.

Lines stand under the title of their section, and turns under the day they were said, by time. A title counts once,
and so does a day: the second turn of a day costs only its words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby, islice

from memoryos.language.calendar import spoken
from memoryos.operation.recall.line import Key, Line, Section

CountTokens = Callable[[str], int]  # the count of two lines must be the sum of both

TODAY_SHARE = 8  # the largest share (1/n) of the tokens for today's date
LONGEST_TOKEN = 40  # characters
SHORTEST = 3  # tokens of a line: who, a colon and a word

_WORD = re.compile(r"[^ \t\r\n]+")  # a token at least
_ORDER = {section: number for number, section in enumerate(Section)}


@dataclass
class Draft:
    """A text that grows line by line."""

    room: int  #: tokens that are left
    count_tokens: CountTokens
    today: datetime | None = None  #: said in the first line if the budget has room for it
    _opening: str = ""
    _lines: dict[Key, Line] = field(default_factory=dict)
    _heads: Counter[tuple[Section, str]] = field(default_factory=Counter)  # titles and days: how many lines are below
    _resting: dict[str, set[Key]] = field(default_factory=dict)  # lines by a page that they were derived from
    _told: dict[str, dict[Key, str]] = field(default_factory=dict)  # by page, the words of its turns in the text
    _costs: dict[str, int] = field(default_factory=dict)  # tokens of texts

    def __post_init__(self) -> None:
        opening = today_is(self.today) if self.today else ""
        if self._cost(opening) * TODAY_SHARE <= self.room:
            self._opening = opening
            self.room -= self._cost(opening)

    def fill(self, lines: Iterable[Line], *, leave: int = 0) -> list[Line]:
        """Take the lines that fit and leave that much room, in order; return the others, in order."""
        return [line for line in lines if not self.take(line, leave=leave)]

    def finish(self, lines: Iterable[Line]) -> None:
        """Take the lines that fit, in order, until the text is full."""
        for line in lines:
            if self.room < SHORTEST:
                return
            self.take(line)

    def take(self, line: Line, *, leave: int = 0) -> bool:
        """Add a line if it fits. Return True also if the text already has it, or the turn it rests on."""
        if any(self._tells(page, line) for page in line.rests_on):
            return True
        before = self._lines.get(line.key)
        if before:
            line = before.with_more(line.spans)
            if line.spans == before.spans:
                return True
        room = self.room - leave + (self.price(before) if before else 0)
        if _is_too_long(line.text, room) or (price := self.price(line)) > room:
            return False
        self._put(line, price - (self.price(before) if before else 0))
        return True

    def may_take(self, key: Key, words: str) -> bool:
        """Whether a line with these words might fit, estimated without counting tokens."""
        words = words.strip()
        if not _is_too_long(words, self.room):
            return True
        before = self._lines.get(key)
        return before is not None and not _is_too_long(words, self.room + self.price(before))

    def lines(self) -> list[Line]:
        """The lines as they stand in the text."""
        return sorted(
            self._lines.values(),
            key=lambda line: (_ORDER[line.section], line.turn is not None, line.at, line.cube.id, line.turn or 0),
        )

    def saying(self, sentence: str) -> str:
        """A text of only this sentence; empty if it does not fit."""
        fits = self.count_tokens(sentence) <= self.room
        return "\n\n".join(part for part in (self._opening, sentence) if part) if fits else ""

    def text(self) -> str:
        """The lines under their titles and days; empty without a line."""
        return self.laid_out(self.lines())

    def laid_out(self, lines: Iterable[Line]) -> str:
        """The text of these lines, which are in order."""
        return "\n\n".join([self._opening, *_sections(lines)]).strip("\n") if self._lines else ""

    def price(self, line: Line) -> int:
        """The tokens of the line, with its title and day if it is the only line under them."""
        others = int(line.key in self._lines)
        heads = sum(self._cost(head[1]) for head in _heads(line) if self._heads[head] == others)
        return self._cost(line.text) + heads

    def _put(self, line: Line, price: int) -> None:
        if line.key not in self._lines:
            self._heads.update(_heads(line))
        self._lines[line.key] = line
        self.room -= price
        for page in line.rests_on:
            self._resting.setdefault(page, set()).add(line.key)
        if line.turn is not None:
            page = line.cube.id
            self._told.setdefault(page, {})[line.key] = line.words
            told = {key for key in self._resting.get(page, ()) if self._tells(page, self._lines.get(key))}
            for key in told:
                self._remove(key)

    def _tells(self, page: str, fact: Line | None) -> bool:
        """Whether the turns of a page that are in the text say what a fact rests on; any turn, if that is unknown."""
        return fact is not None and any(fact.quote in words for words in self._told.get(page, {}).values())

    def _remove(self, key: Key) -> None:
        if line := self._lines.get(key):
            self.room += self.price(line)
            self._heads.subtract(_heads(line))
            del self._lines[key]

    def _cost(self, text: str) -> int:
        if text not in self._costs:
            self._costs[text] = self.count_tokens(f"{text}\n")
        return self._costs[text]


def _sections(lines: Iterable[Line]) -> Iterator[str]:
    for section, those in groupby(lines, key=lambda line: line.section):
        told = [section.value]
        for day, said in groupby(those, key=lambda line: line.day):
            told += [day] if day else []
            told += [line.text for line in said]
        yield "\n".join(told)


def _is_too_long(text: str, room: int) -> bool:
    """Whether a text is unlikely to fit, estimated without counting tokens."""
    return len(text) > LONGEST_TOKEN * room or next(islice(_WORD.finditer(text), max(0, room), None), None) is not None


def today_is(moment: datetime) -> str:
    """A sentence that says what day it is."""
    return f"Today is {spoken(moment)}."


def _heads(line: Line) -> list[tuple[Section, str]]:
    """The title and the day that the line stands under."""
    title, day = line.section.value, line.day
    return [(line.section, title), (line.section, day)] if day else [(line.section, title)]
