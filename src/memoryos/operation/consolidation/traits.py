"""Traits of the user: how often the cues of a persona dimension appear in the user's own turns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from memoryos.cube import Subject, Trait
from memoryos.language.marked import Marked
from memoryos.language.sentences import split_sentences
from memoryos.operation.consolidation.persona import Dimension, PersonaSchema
from memoryos.operation.hierarchy.trait import graded

_REASON_CUES = 5  # cues named in a reason; more would be a list, not a reason

# A sentence of dislike or absence shows no interest, whatever it names.
_AVERSE = re.compile(
    r"\b(?:hate|dislike|despise|detest|loathe|(?:don't|do not|doesn't|didn't|never|not)(?:\s+\w+){0,2}\s+"
    r"(?:like|love|enjoy|care|into|interested|play|watch|read|have|own|fan)|can't stand|boring)\b"
    r"|不(?:太|怎么|是很)?(?:喜欢|爱|感兴趣)|讨厌|没兴趣|受不了|没有兴趣",
    re.IGNORECASE,
)


# Nor does what another person does.
_OF_OTHERS = re.compile(
    r"(?:and |but )?(?:he|she|his|her)\b(?!.*\b(?:I|me|my|we|us|our)\b)|[他她](?!.*我)", re.IGNORECASE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    folded: str  # in lower case

    @classmethod
    def of(cls, sentences: Iterable[str]) -> _Said:
        text = "\n".join(sentences)
        return cls(text, text.lower())


@dataclass(frozen=True, slots=True)
class _Reader:
    dimension: Dimension
    cues: Marked


class TraitReader:
    """Finds the dimensions of a schema in texts."""

    def __init__(self, schema: PersonaSchema) -> None:
        self._readers = [_reader(dimension) for dimension in schema.dimensions if dimension.has_cues]

    def read(self, texts: Iterable[tuple[str, str]]) -> Iterator[tuple[Trait, tuple[str, ...]]]:
        """Each trait that shows in the `(page id, text)` pairs, with its pages, in the order of the schema."""
        own_words = [(page, *_parted(text)) for page, text in texts]
        for reader in self._readers:
            pages: dict[str, bool] = {}  # whether it speaks for the trait
            cues: Counter[str] = Counter()
            for page, said, averse in own_words:
                matched = {cue.casefold() for cue in reader.cues.findall(said.text, said.folded)}
                cues.update(sorted(matched))
                if matched or reader.cues.search(averse.text, averse.folded):
                    pages[page] = pages.get(page, False) or bool(matched)
            if pages:
                yield _trait(reader.dimension.name, cues, pages), tuple(pages)


@lru_cache(256)
def _reader(dimension: Dimension) -> _Reader:
    return _Reader(dimension, Marked(_pattern(dimension), _marks(dimension)))


def _pattern(dimension: Dimension) -> re.Pattern[str]:
    """Any cue; English ones as whole words with an optional plural, Chinese ones as they stand."""
    english = "|".join(re.escape(cue) for cue in sorted(dimension.cues_en, key=len, reverse=True))
    chinese = "|".join(re.escape(cue) for cue in sorted(dimension.cues_zh, key=len, reverse=True))
    parts = [rf"\b(?:{english})s?\b" if english else "", chinese]
    return re.compile("|".join(part for part in parts if part), re.IGNORECASE)


def _marks(dimension: Dimension) -> tuple[str, ...]:
    return tuple(cue.lower() for cue in (*dimension.cues_en, *dimension.cues_zh))


def _parted(text: str) -> tuple[_Said, _Said]:
    """What is said of oneself without aversion, and with it."""
    sentences = [one for one in split_sentences(text.replace("’", "'")) if not _OF_OTHERS.match(one)]
    averse = dict.fromkeys(sentence for sentence in sentences if _AVERSE.search(sentence))
    return _Said.of(sentence for sentence in sentences if sentence not in averse), _Said.of(averse)


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
