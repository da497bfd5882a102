"""Snowball's stemmers by the code of the language."""

from __future__ import annotations

import threading
from collections.abc import Sequence
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


class _Stemmers(threading.local):
    """The stemmers of one thread: a stemmer keeps the word it works on in itself."""

    def __init__(self) -> None:
        self.of = {code: Stemmer(name, 0) for code, name in SNOWBALL.items()}  # who calls has a cache


_STEMMERS: Final = _Stemmers()


def snowball(word: str, language: str) -> str:
    """The stem of a word of the language, one of SNOWBALL."""
    return str(_STEMMERS.of[language].stemWord(word))


def snowballs(words: Sequence[str], language: str) -> list[str]:
    """The stems of many words of the language: in a fraction of the time that they take one by one."""
    return list(_STEMMERS.of[language].stemWords(list(words)))
