"""The static embedder in many languages: an English text has MiniLM's word pieces, any other those of its language.

Both have vectors in one space, so a question finds what was said in another language. What is neither, such as an
emoji in a Chinese text, is read as in an English one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence, Set
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryos.language.foreign import function_words, language_of, latin_language
from memoryos.language.stopwords import CHINESE
from memoryos.models.static import Static
from memoryos.models.static.pieces import NO_PIECE, Pieces, load_pieces
from memoryos.process_lock import ProcessLock
from memoryos.regex import regex

_MARKS = "\u0300-\u036f\u064b-\u065f\u0670\u0640"  # accents by themselves, and the vowels of Arabic
_FOREIGN = regex(
    "[\u0370-\u1fff\u2c00-\u2dff\u2e80-\u2fff\u3005-\u3007\u3031-\ud7af\uf900-\ufaff\ufb00-\ufdff\ufe70-\ufeff]"
)
_RUNS = regex(rf"[^\W_](?:[^\W_]|[{_MARKS}\u0900-\u0dff\u0e00-\u0fff])*|[^\w\s]")
_LATIN_RUN = regex("[a-z0-9\u00aa-\u024f]+")
_UNSAID = regex("[\u064b-\u065f\u0670\u0640]")  # what Arabic is mostly written without


class Multilingual:
    """Embeds the whole text as 256 numbers by meaning. Threads may share one; it loads at the first use."""

    name: Final = "static-multilingual-256-4"  # kept in stores: change it whenever the vectors change
    dim: Final = Static.dim

    def __init__(self, english: Static | None = None) -> None:
        self._english = english or Static()
        self._lock = ProcessLock()
        self._pieces: Pieces | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text."""
        others = [place for place, text in enumerate(texts) if not _is_english(text)]
        if not others:
            return self._english.embed(texts)
        vectors = np.empty((len(texts), self.dim), np.float32)
        here = sorted(set(range(len(texts))).difference(others))
        vectors[here] = self._english.embed([texts[place] for place in here])
        for place in others:
            vectors[place] = self._vector(texts[place])
        return vectors

    def longest(self, word: str) -> float:
        """The length of the longest row of a word's pieces, about 1 for a rare one; 1 if none is known."""
        if _is_english(word):
            return self._english.longest(word)
        pieces = self._known()
        rows = [row for _, row in pieces.cut(word.lower(), language_of(word)) if row != NO_PIECE]
        return float(np.linalg.norm(pieces.vectors(rows), axis=1).max()) if rows else 1.0

    def _vector(self, text: str) -> NDArray[np.float32]:
        """The direction of the sum of the vectors of a text's runs, shape (dim,)."""
        folded = _UNSAID.sub("", unicodedata.normalize("NFKC", text).lower())
        latin = latin_language(folded)
        pieces, empty = self._known(), CHINESE | function_words(folded)
        rows: list[int] = []
        rest: list[str] = []
        for run in _RUNS.findall(folded):
            if _FOREIGN.search(run):
                rows += _telling_rows(pieces, run, language_of(run), empty)
            elif latin != "en" and _LATIN_RUN.fullmatch(run):
                rows += _telling_rows(pieces, run, latin, empty)
            elif run.isalnum() or unicodedata.category(run[0])[0] == "S":
                rest.append(run)
        return self._english.direction_with(pieces.vectors(rows), " ".join(rest))

    def _known(self) -> Pieces:
        with self._lock:
            if self._pieces is None:
                self._pieces = load_pieces()
            return self._pieces


def _telling_rows(pieces: Pieces, run: str, language: str, empty: Set[str]) -> list[int]:
    """The rows of the pieces of a run that have a vector, without function words."""
    if run in empty:
        return []
    return [row for piece, row in pieces.cut(run, language) if row != NO_PIECE and piece.lstrip("\u2581") not in empty]


def _is_english(text: str) -> bool:
    return (text.isascii() or not _FOREIGN.search(text)) and latin_language(text) == "en"
