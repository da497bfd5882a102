"""Grounding: whether what a model wrote down was said in the pages that it read.

A model may invent, translate, repeat its prompt or follow orders that stand in a text. So nothing it says is believed
for its own sake: the words it quotes must be in the page, and the names, numbers and dates of the statement must occur
in what was read or follow from it ("yesterday" and the day it was said).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from memoryos.cached_property import cached_property
from memoryos.cube import MemCube
from memoryos.language.orders import gives_orders
from memoryos.language.period import Period
from memoryos.language.plain_letters import plain_text
from memoryos.language.sentences import split_sentences
from memoryos.language.stopwords import FUNCTION_WORDS
from memoryos.language.times import named_periods, untimed
from memoryos.language.words import HAN, stem, words
from memoryos.operation.consolidation.assertion import Stance
from memoryos.operation.consolidation.stance import stance
from memoryos.operation.consolidation.utterance import Utterance, utterances
from memoryos.operation.consolidation.wording import wording
from memoryos.regex import regex

MOST_NEW = 0.5  # of a statement's content words may be the model's own
_QUOTE_CHARS = 4  # a shorter quote supports nothing
_SHARED_PREFIX = 4  # characters: two forms of one word, in a language without a stemmer here

_NUMBER = regex(r"\d+")
_NAME = regex(r"[^\W\d_][\w'’-]*")
_SAID_OF_ANYBODY = frozenset(("user", "the", "assistant", "用户", "助手", "she", "he", "they", "her", "his", "their"))
_NUMBER_WORDS = {
    word: str(value)
    for value, names in enumerate(
        "zero零〇 one一 two二两 three三 four四 five五 six六 seven七 eight八 nine九 ten十 eleven twelve thirteen "
        "fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
    for word in re.findall(r"[a-z]+|[\u3007\u3400-\u9fff]", names)
} | {"once": "1", "twice": "2", "dozen": "12", "couple": "2", "hundred": "100", "thousand": "1000"}


class Flaw(StrEnum):
    """Why a statement is not believed."""

    SHAPE = "shape"  # it is not what was asked for
    QUOTE = "quote"  # the words it quotes are in no page
    ORDER = "order"  # they give an order
    NAME = "name"  # it names somebody or something that was not mentioned
    NUMBER = "number"
    DATE = "date"
    LANGUAGE = "language"  # it is written in another script
    WORDS = "words"  # most of its words are the model's own
    DENIED = "denied"  # the words are denied and the statement is not, or the other way round
    SUPPOSED = "supposed"  # they are supposed, wished or asked
    OTHERS = "others"  # they are somebody else's, or about somebody else


@dataclass(frozen=True)
class Evidence:
    """The pages that a model read."""

    utterances: tuple[Utterance, ...]

    @classmethod
    def of(cls, pages: Sequence[MemCube]) -> Evidence:
        """The dialogue of these pages."""
        return cls(tuple(utterances(pages)))

    def quoted(self, quote: str, page: str | None = None) -> Utterance | None:
        """The turn that says these words: of the page, else of any."""
        wanted = wording(quote)
        if len(wanted) < (_QUOTE_CHARS if not HAN.search(wanted) else 2):
            return None
        found = [one for one in self.utterances if one.says(wanted)]
        return next((one for one in found if one.page == page), found[0] if found else None)

    def flaw(self, statement: str, quote: str, source: Utterance) -> Flaw | None:
        """What is wrong with a statement that rests on these words of that turn; None when nothing is.

        Its page alone bears it out, and goes with it when it is deleted: a name from another would stay.
        """
        if gives_orders(quote):
            return Flaw.ORDER
        own = self._by_page[source.page]
        if not own._days.allow(named_periods(statement, source.at)):
            return Flaw.DATE
        return own._flaw_of_words(untimed(statement, source.at), quote) or flaw_of_stance(statement, quote, source)

    def flaw_of_summary(self, summary: str) -> Flaw | None:
        """The flaw of a summary of all of it; None if there is none."""
        if gives_orders(summary) or not self.utterances:
            return Flaw.ORDER
        latest = max(one.at for one in self.utterances)
        if not self._days.allow(named_periods(summary, latest)):
            return Flaw.DATE
        said = " ".join(one.text for one in self.utterances)
        return self._flaw_of_words(untimed(summary, latest), said)

    def _flaw_of_words(self, timeless: str, quote: str) -> Flaw | None:
        if bool(HAN.search(timeless)) != bool(HAN.search(quote)):
            return Flaw.LANGUAGE
        if not set(_NUMBER.findall(plain_text(timeless))) <= self._numbers:
            return Flaw.NUMBER
        if not all(map(self._is_known, _names(timeless))):
            return Flaw.NAME
        return Flaw.WORDS if self._share_of_new(timeless, quote) > MOST_NEW else None

    def allows_day(self, day: date, source: Utterance) -> bool:
        """Whether something can have been on that day, by what the turn says."""
        return self._by_page[source.page]._days.allow([Period(day, day)])

    @cached_property
    def _by_page(self) -> dict[str, Evidence]:
        """The statements of each page by itself."""
        said: dict[str, list[Utterance]] = {}
        for one in self.utterances:
            said.setdefault(one.page, []).append(one)
        return {page: Evidence(tuple(of_page)) for page, of_page in said.items()}

    @cached_property
    def _known(self) -> frozenset[str]:
        """The forms of all words, of the speakers' names too."""
        texts = (f"{one.turn.speaker or ''} {one.text}" for one in self.utterances)
        return frozenset(stem(word) for text in texts for word in words(text))

    @cached_property
    def _numbers(self) -> frozenset[str]:
        digits = {number for one in self.utterances for number in _NUMBER.findall(plain_text(one.text))}
        spelled = {_NUMBER_WORDS[word] for one in self.utterances for word in _spelled(one.text)}
        return frozenset(digits | spelled)

    @cached_property
    def _characters(self) -> frozenset[str]:
        return frozenset("".join(one.text for one in self.utterances))

    @cached_property
    def _days(self) -> _Days:
        """What it speaks of, and when it was said."""
        said = tuple(Period(one.at.date(), one.at.date()) for one in self.utterances)
        return _Days((*said, *(period for one in self.utterances for period in named_periods(one.text, one.at))))

    def _is_known(self, word: str) -> bool:
        return word in _SAID_OF_ANYBODY or stem(word) in self._known or any(_akin(word, one) for one in self._known)

    def _share_of_new(self, statement: str, quote: str) -> float:
        """Of the content of the statement, how much is in no page."""
        if HAN.search(statement):
            characters = HAN.findall(statement.replace("用户", "").replace("助手", ""))
            return sum(one not in self._characters for one in characters) / max(1, len(characters))
        content = [word for word in words(statement) if word not in FUNCTION_WORDS and not word.isdecimal()]
        near = {stem(word) for word in words(quote)}
        new = [word for word in content if stem(word) not in near and not self._is_known(word)]
        return len(new) / max(1, len(content))


def flaw_of_stance(statement: str, quote: str, source: Utterance) -> Flaw | None:
    """Whether the turn denies, supposes or hands on what the statement takes for said; None when it says it."""
    found = stance(statement, quote, source.said)
    return None if found is Stance.STATED else Flaw(found.value)


def flaw_of_value(value: str, quote: str, source: Utterance) -> Flaw | None:
    """The flaw of the value of a profile field, which must be the speaker's own; None if there is none."""
    return flaw_of_stance(f"用户是{value}" if HAN.search(value) else f"The user is {value}", quote, source)


@dataclass(frozen=True)
class _Days:
    """Periods that were spoken of."""

    periods: tuple[Period, ...]

    def allow(self, wanted: Sequence[Period]) -> bool:
        """Whether each wanted period lies in one of these, or around one."""
        return all(any(_nested(one, known) for known in self.periods) for one in wanted)


def _names(statement: str) -> Iterator[str]:
    """The words with a capital, in lower case; function words only where a sentence does not begin."""
    for sentence in split_sentences(statement):
        for match in _NAME.finditer(sentence):
            word = match.group()
            if word[0].isupper() and word.lower() not in FUNCTION_WORDS:
                yield from words(word.removesuffix("'s").removesuffix("’s"))


def _spelled(text: str) -> Iterator[str]:
    """The number words of a text; Chinese ones by their characters."""
    for word in words(text):
        yield from (part for part in (word, *HAN.findall(word), *re.findall("〇", word)) if part in _NUMBER_WORDS)


def _akin(word: str, known: str) -> bool:
    """Whether two words begin alike, as forms of one word do."""
    shared = max(_SHARED_PREFIX, round(0.7 * max(len(word), len(known))))
    return len(known) >= shared and word[:shared] == known[:shared]


def _nested(one: Period, other: Period) -> bool:
    inside = other.first <= one.first and one.last <= other.last
    around = one.first <= other.first and other.last <= one.last
    return inside or around
