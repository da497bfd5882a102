"""Draft: a text that takes lines until its token budget is used; titles and dates count too.

Lines stand under the title of their section, and turns under the day they were said, by time; an empty line, which
costs no token, stands between turns of different pages. A title counts once, and so does a day: the second turn of a
day costs only its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from memoryos.language.calendar import spoken
from memoryos.operation.recall.growing import CountTokens, Growing
from memoryos.operation.recall.hit import Span
from memoryos.operation.recall.line import Key, Line, Section
from memoryos.operation.recall.unsaid import ToldSentences
from memoryos.regex import regex
from memoryos.text_cache import short_text_cache

TODAY_SHARE = 8  # the largest share (1/n) of the tokens for today's date
LONGEST_TOKEN = 40  # characters
AROUND = 2  # tokens of a line around its words: who, and a colon
SHORTEST = 6  # tokens of a line that says something: who, a colon and some words
MISSES = 24  # lines in a row that do not fit, after which the others are not tried

_WORD = regex(r"[^ \t\r\n]+")  # a token at least
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
    _turns: dict[str, list[Key]] = field(default_factory=dict)  # by page, its turns in the text
    _growing: dict[Key, Growing] = field(default_factory=dict)  # turns that got more since they were counted
    _paid: dict[Key, int] = field(default_factory=dict)  # tokens of each line, as counted
    _told: dict[Key, str] = field(default_factory=dict)  # the words of turns, to be compared with quotes
    _costs: dict[str, int] = field(default_factory=dict)  # tokens of texts
    _sentences: ToldSentences = field(default_factory=ToldSentences)  # of the turns in the text

    def __post_init__(self) -> None:
        opening = today_is(self.today) if self.today else ""
        if self._cost(opening) * TODAY_SHARE <= self.room:
            self._opening = opening
            self.room -= self._cost(opening)

    def fill(self, lines: Iterable[Line], *, leave: int = 0) -> list[Line]:
        """Take the lines that fit and leave that much room, in order; return those that did not, in order.

        After MISSES of these in a row, it tries no more: `lines` still has the others, if it is an iterator.
        """
        passed: list[Line] = []
        misses = 0
        for line in lines:
            if self.take(line, leave=leave):
                misses = 0
                continue
            passed.append(line)
            misses += 1
            if misses == MISSES:
                break
        self.settle()
        return passed

    def finish(self, lines: Iterable[Line]) -> None:
        """Take the lines that fit, in order, until the text is full, or MISSES in a row did not fit."""
        misses = 0
        for line in lines:
            if self.room < SHORTEST or misses == MISSES:
                return
            misses = 0 if self.take(line) else misses + 1

    def take(self, line: Line, *, leave: int = 0) -> bool:
        """Add a line if it fits. Return True also if the text already has it, or the turn it rests on.

        Of a turn that mostly repeats what the text has, only the rest is added.
        """
        unsaid = self._sentences.unsaid(line)
        if unsaid is None or any(self._tells(page, line) for page in line.rests_on):
            return True
        is_taken = self._take(unsaid, leave)
        if is_taken:
            self._sentences.add(unsaid)
        return is_taken

    def _take(self, line: Line, leave: int) -> bool:
        if there := self._lines.get(line.key):
            if line.turn is None and line.text != there.text:
                return self._replace(there, line, leave)
            return all(self._grow(line.key, span, leave) for span in line.spans)
        return self._take_new(line, leave)

    def _replace(self, part: Line, whole: Line, leave: int) -> bool:
        """Take a fact in the place of the part of it that the text has, if it fits."""
        self._remove(part.key)
        is_taken = self._take_new(whole, leave)
        if not is_taken:
            self._put(part, self.price(part))
        return is_taken

    def _take_new(self, line: Line, leave: int) -> bool:
        price = self._price_within(line, self.room - leave)
        if price is None:
            opening = self._cost(self._opening) if not leave and not self._lines and self._opening else 0
            if not opening or (price := self._price_within(line, self.room + opening)) is None:
                return False
            self._opening, self.room = "", self.room + opening  # the first line is worth more than today's date
        self._put(line, price)
        return True

    def _price_within(self, line: Line, room: int) -> int | None:
        """The price of a line that fits into the room; None if it does not. Most fail by their words alone."""
        if _is_too_long(line.text, room) or self._cost(line.text) > room:
            return None
        price = self.price(line)
        return price if price <= room else None

    def may_take(self, key: Key, words: str) -> bool:
        """Whether a line with these words might fit, estimated without counting tokens."""
        words = words.strip()
        if not _is_too_long(words, self.room - AROUND):
            return True
        return key in self._paid and not _is_too_long(words, self.room + self._paid[key] - AROUND)

    @property
    def has_turns(self) -> bool:
        """Whether the text has a turn."""
        return bool(self._turns)

    def __contains__(self, key: Key) -> bool:
        return key in self._lines

    def tells_of(self, page: str) -> bool:
        """Whether the text has a turn of the page, or nothing yet."""
        return page in self._turns or not self._lines

    def tokens_of(self, page: str) -> int:
        """The tokens of the turns of a page in the text."""
        return sum(self._paid[key] for key in self._turns.get(page, ()))

    def settle(self) -> None:
        """Count each turn that grew as a whole; give up stretches if it was too much."""
        for growing in self._growing.values():
            self._count_again(growing)
        for growing in self._growing.values():
            while self.room < 0 and growing.drop():
                self._count_again(growing)
        self._growing.clear()

    def lines(self) -> list[Line]:
        """The lines as they stand in the text."""
        self.settle()
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
        self._heads.update(_heads(line))
        self._lines[line.key], self._paid[line.key] = line, self._cost(line.text)
        self.room -= price
        for page in line.rests_on:
            self._resting.setdefault(page, set()).add(line.key)
        if line.turn is not None:
            self._turns.setdefault(line.cube.id, []).append(line.key)
            self._replace_facts(line.cube.id, lambda fact: self._tells(line.cube.id, fact))

    def _grow(self, key: Key, span: Span, leave: int) -> bool:
        """Add a stretch to a turn if it fits; return True also if it is there."""
        growing = self._growing.get(key) or Growing.of(self._lines[key])
        addition, room = growing.with_more(span), self.room - leave
        if addition is None:
            return True
        is_hopeless = any(_is_too_long(words, room) for words in addition.told)
        if is_hopeless or (price := addition.price(self.count_tokens)) > room:
            return False
        growing.add(addition)
        self._growing[key] = growing
        self._paid[key] += price
        self.room -= price
        self._told.pop(key, None)
        self._replace_facts(key[0], lambda fact: addition.tells(fact.quote))
        return True

    def _count_again(self, growing: Growing) -> None:
        line = growing.whole()
        key, tokens = line.key, self.count_tokens(f"{line.text}\n")
        self.room += self._paid[key] - tokens
        self._lines[key], self._paid[key] = line, tokens

    def _replace_facts(self, page: str, tells: Callable[[Line], bool]) -> None:
        """Remove the facts that rest on words that the text has now."""
        for key in [key for key in self._resting.get(page, ()) if key in self._lines and tells(self._lines[key])]:
            self._remove(key)

    def _tells(self, page: str, fact: Line) -> bool:
        """Whether the turns of a page that are in the text say what a fact rests on; any turn, if that is unknown."""
        return any(fact.quote in self._words(key) for key in self._turns.get(page, ()))

    def _words(self, key: Key) -> str:
        if key not in self._told:
            growing = self._growing.get(key)
            self._told[key] = (growing.whole() if growing else self._lines[key]).words
        return self._told[key]

    def _remove(self, key: Key) -> None:
        if line := self._lines.get(key):
            self.room += self.price(line)
            self._heads.subtract(_heads(line))
            del self._lines[key], self._paid[key]

    def _cost(self, text: str) -> int:
        if text not in self._costs:
            self._costs[text] = self.count_tokens(f"{text}\n")
        return self._costs[text]


def _sections(lines: Iterable[Line]) -> Iterator[str]:
    for section, those in groupby(lines, key=lambda line: line.section):
        told = [section.value]
        for day, said in groupby(those, key=lambda line: line.day):
            told += [day] if day else []
            told += _exchanges(said)
        yield "\n".join(told)


def _exchanges(said: Iterable[Line]) -> list[str]:
    """The lines; an empty one stands between turns of two pages, which may not have followed each other."""
    pages = groupby(said, key=lambda line: line.turn is None or line.cube.id)
    return ["\n\n".join("\n".join(line.text for line in page) for _, page in pages)]


def _is_too_long(text: str, room: int) -> bool:
    """Whether a text is unlikely to fit, estimated without counting tokens."""
    if len(text) > LONGEST_TOKEN * room:
        return True
    return 2 * room < len(text) and _words_of(text) > room  # a word and the blank behind it are two characters


@short_text_cache(2_048)  # a line is tried again and again while the room gets less
def _words_of(text: str) -> int:
    return len(_WORD.findall(text))


def today_is(moment: datetime) -> str:
    """A sentence that says what day it is."""
    return f"Today is {spoken(moment)}."


def _heads(line: Line) -> list[tuple[Section, str]]:
    """The title and the day that the line stands under."""
    title, day = line.section.value, line.day
    return [(line.section, title), (line.section, day)] if day else [(line.section, title)]
