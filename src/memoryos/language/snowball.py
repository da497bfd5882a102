"""Snowball's stemmers by the code of the language."""

from __future__ import annotations

from collections.abc import Sequence
from threading import local
from typing import Final

from Stemmer import Stemmer

SNOWBALL: Final = {
    "ar": "arabic",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pt": "portuguese",
    "ru": "russian",
}


class _OwnStemmers(local):
    """The stemmers of one thread: each keeps the word it works on in itself, and a lock takes as long as to stem."""

    def __init__(self) -> None:
        self._known: dict[str, Stemmer] = {}

    def of(self, language: str) -> Stemmer:
        known = self._known.get(language)
        if known is None:
            known = self._known[language] = Stemmer(SNOWBALL[language], 0)  # who calls has a cache
        return known


_STEMMERS: Final = _OwnStemmers()


def snowball(word: str, language: str) -> str:
    """The stem of a word of the language, one of SNOWBALL."""
    return str(_STEMMERS.of(language).stemWord(word))


def snowballs(words: Sequence[str], language: str) -> list[str]:
    """The stems of many words of the language: in a fraction of the time that they take one by one."""
    return list(_STEMMERS.of(language).stemWords(list(words)))
