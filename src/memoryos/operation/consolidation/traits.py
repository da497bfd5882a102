"""Traits of the user: how often the cues of a persona dimension appear in the user's own turns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from memoryos.cube import Trait
from memoryos.kinds import Subject
from memoryos.operation.consolidation.persona import Dimension, PersonaSchema
from memoryos.operation.knowledge.trait import graded
from memoryos.regex import regex

_REASON_CUES = 5  # cues named in a reason; more would be a list, not a reason

_WORD = regex(r"\w+")

# A sentence of dislike or absence shows no interest, whatever it names.
_AVERSE = regex(
    r"\b(?:hate|dislike|despise|detest|loathe|(?:don't|do not|doesn't|didn't|never|not)(?:\s+\w+){0,2}\s+"
    r"(?:like|love|enjoy|care|into|interested|play|watch|read|have|own|fan)|can't stand|boring)\b"
    r"|不(?:太|怎么|是很)?(?:喜欢|爱|感兴趣)|讨厌|没兴趣|受不了|没有兴趣",
    re.IGNORECASE,
)


# Nor does what another person does.
_OF_OTHERS = regex(
    r"(?:and |but )?(?:he|she|his|her)\b(?!.*\b(?:I|me|my|we|us|our)\b)|[他她](?!.*我)", re.IGNORECASE | re.DOTALL
)


@dataclass(slots=True)
class _Shown:
    """The evidence of texts for a dimension."""

    pages: dict[str, bool] = field(default_factory=dict)  # whether a page speaks for it, or only against it
    cues: Counter[str] = field(default_factory=Counter)


class TraitReader:
    """Finds the dimensions of a schema in texts."""

    def __init__(self, schema: PersonaSchema) -> None:
        self._dimensions = [dimension for dimension in schema.dimensions if dimension.has_cues]
        self._patterns = [_pattern(dimension) for dimension in self._dimensions]
        self._by_word: dict[str, list[tuple[str, int]]] = {}  # the word that a cue begins with -> cue and dimension
        self._by_mark: dict[str, set[int]] = {}  # a cue that need not begin with a word
        for number, dimension in enumerate(self._dimensions):
            self._enter(number, dimension)
        self._plain_marks = {mark: numbers for mark, numbers in self._by_mark.items() if mark.isascii()}

    def read(self, texts: Iterable[tuple[str, Sequence[str]]]) -> Iterator[tuple[Trait, tuple[str, ...]]]:
        """Each trait that shows in the `(page id, sentences)` pairs, with its pages, in the order of the schema."""
        shown: dict[int, _Shown] = {}
        for page, sentences in texts:
            if numbers := self._may_show("\n".join(plain := _plain(sentences))):
                said, averse = _parted(plain)
                for number in numbers:
                    self._look(number, page, said, averse, shown)
        for number in sorted(shown):
            found = shown[number]
            yield _trait(self._dimensions[number].name, found.cues, found.pages), tuple(found.pages)

    def may_read(self, text: str) -> bool:
        """Whether a cue may be in a text, and so in one of its sentences."""
        return bool(self._may_show(text.replace("’", "'")))

    def _look(self, number: int, page: str, said: str, averse: str, shown: dict[int, _Shown]) -> None:
        """See what a page shows of a dimension."""
        matched = {cue.casefold() for cue in self._patterns[number].findall(said)}
        if matched or self._patterns[number].search(averse):
            found = shown.setdefault(number, _Shown())
            found.cues.update(sorted(matched))
            found.pages[page] = found.pages.get(page, False) or bool(matched)

    def _may_show(self, text: str) -> set[int]:
        """The dimensions of which a cue may be in the text: looked up by its words, for most show none."""
        folded = text.lower()
        words, begun = set(_WORD.findall(folded)), self._by_word
        numbers = {number for word in words for cue, number in begun.get(word, ()) if cue in folded}
        marks = self._plain_marks if folded.isascii() else self._by_mark
        return numbers.union(*(found for mark, found in marks.items() if mark in folded))

    def _enter(self, number: int, dimension: Dimension) -> None:
        for cue in map(str.lower, dimension.cues_en):
            first = _WORD.match(cue)
            if first is None or not cue.isascii():
                self._by_mark.setdefault(cue, set()).add(number)
            else:
                plural = [f"{cue}s"] if first.group() == cue else []
                for word in (first.group(), *plural):
                    self._by_word.setdefault(word, []).append((cue, number))
        for cue in map(str.lower, dimension.cues_zh):
            self._by_mark.setdefault(cue, set()).add(number)


@lru_cache(16)
def trait_reader(schema: PersonaSchema) -> TraitReader:
    """The reader of a schema, which all memories share: to sort its cues takes a third of the time of an open."""
    return TraitReader(schema)


@lru_cache(256)
def _pattern(dimension: Dimension) -> re.Pattern[str]:
    """Any cue; English ones as whole words with an optional plural, Chinese ones as they stand."""
    english = "|".join(re.escape(cue) for cue in sorted(dimension.cues_en, key=len, reverse=True))
    chinese = "|".join(re.escape(cue) for cue in sorted(dimension.cues_zh, key=len, reverse=True))
    parts = [rf"\b(?:{english})s?\b" if english else "", chinese]
    return regex("|".join(part for part in parts if part), re.IGNORECASE)


def _plain(sentences: Iterable[str]) -> list[str]:
    return [sentence.replace("’", "'") for sentence in sentences]


def _parted(sentences: Iterable[str]) -> tuple[str, str]:
    """What is said of oneself without aversion, and with it; one sentence a line."""
    own = [sentence for sentence in sentences if not _OF_OTHERS.match(sentence)]
    averse = dict.fromkeys(sentence for sentence in own if _AVERSE.search(sentence))
    return "\n".join(sentence for sentence in own if sentence not in averse), "\n".join(averse)


def _trait(dimension: str, cues: Counter[str], pages: Mapping[str, bool]) -> Trait:
    counter = tuple(page for page, speaks_for in pages.items() if not speaks_for)
    level, confidence = graded(len(pages) - len(counter), len(counter))
    named = ", ".join(cue for cue, _ in cues.most_common(_REASON_CUES))
    return Trait(
        subject=Subject.USER,
        dimension=dimension,
        level=level,
        reason=f"mentioned {named}" if named else "spoke against it",
        confidence=confidence,
        counter=counter,
    )
