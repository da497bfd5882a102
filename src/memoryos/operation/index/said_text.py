"""Said text: a text prepared to be asked which words it contains."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.language.words import index_words, stem, words
from memoryos.regex import regex
from memoryos.text_cache import short_text_cache

LONGEST = 2_000  # characters of a text that are looked at

_LATIN_WORD = regex(r"[a-z0-9_\u00df-\u024f\u0300-\u036f\u1e00-\u1eff]+")  # also with accents, which a stem has not
_DIGIT = regex(r"\d")


@dataclass(frozen=True, slots=True)
class SaidText:
    """The beginning of a text, prepared for word lookups."""

    text: str  #: as it was said
    folded: str  #: in lower case
    stems: frozenset[str]  #: of its words in Latin letters

    @classmethod
    def of(cls, whole: str) -> SaidText:
        """Prepare the text without segmenting Chinese, which would take longer than the search."""
        text = whole[:LONGEST]
        folded = text.lower()
        if not text.isascii():
            return cls(text, folded, frozenset(map(stem, _LATIN_WORD.findall(folded))))
        return cls(text, folded, frozenset(map(stem, index_words(text) if _DIGIT.search(text) else words(text))))


class SaidTexts(dict[str, SaidText]):
    """The texts of one search, each prepared when it is first looked up."""

    def __missing__(self, text: str) -> SaidText:
        """Prepare a text."""
        self[text] = prepared = _prepared(text)
        return prepared


_prepared = short_text_cache(2_048)(SaidText.of)  # what is found for one question is often found for the next one, too
