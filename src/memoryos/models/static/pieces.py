"""What the static embedder knows of languages beside English: pieces of their words, each with a vector.

A run of letters is cut into the pieces that are most probable together, as sentencepiece cuts it, so that it needs no
spaces: Chinese words, Japanese ones and the stems of long words come out of one search. The vectors lie in the space of
the English ones; `tools/build_languages.py` makes them.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryos.language.snowball import SNOWBALL, snowball, snowballs
from memoryos.regex import regex

_FILE = Path(__file__).parent / "languages.npz"
_START = "\u2581"  # before a piece that starts a word, as sentencepiece has it
_KEPT_RUNS = 32_768  # words between spaces come again
_LONGEST_KEPT = 20  # characters; a longer run is a clause without spaces, hardly met twice
_UNKNOWN = -25.0  # the score of a character that no piece has
NO_PIECE: Final = -1

_SHORTEST_STEM = 3
_LATIN = regex("[a-z\u00df-\u024f]+")
_LETTERS: Final = defaultdict(
    lambda: _LATIN, {"ar": regex("[\u0620-\u06ff]+"), "ru": regex("[\u0400-\u052f]+")}
)  # of the words of a language

Cut = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Pieces:
    """The vocabulary: a vector for each text, and how probable it is as a piece."""

    places: dict[str, int]  #: of a piece, its number: twice its row, and one more inside a word
    scores: array[float]  #: logarithms of probabilities, by number
    reach: dict[str, int]  #: the length of the longest piece that starts with a character
    space: float  #: the score of the start of a word by itself
    values: NDArray[np.uint8]  #: two numbers of four bits a byte, (rows, dim / 2)
    scales: NDArray[np.float32]  #: (rows, 1)
    kept: dict[tuple[str, str], Cut] = field(default_factory=dict)
    forms: dict[str, dict[str, str]] = field(default_factory=dict)  #: by language, the likeliest word of each stem
    words: dict[re.Pattern[str], list[str]] = field(default_factory=dict)  #: by letters, the likeliest last

    def cut(self, run: str, language: str) -> Cut:
        """The pieces of a run of letters with their rows; a character that no piece has has NO_PIECE.

        A word that is known in another form is taken for that form, rather than cut.
        """
        found = self.kept.get((language, run))
        if found is None:
            found = self._known_form(run, language) or self._cut(run)
            if len(run) <= _LONGEST_KEPT:
                if len(self.kept) >= _KEPT_RUNS:
                    self.kept.clear()
                self.kept[language, run] = found
        return found

    def _known_form(self, run: str, language: str) -> Cut:
        if language not in SNOWBALL:
            return ()
        piece = _START + run
        if piece not in self.places:
            if language not in self.forms:
                self.forms[language] = self._forms(language)
            piece = self.forms[language].get(snowball(run, language), "")
        number = self.places.get(piece)
        return () if number is None else ((piece, number >> 1),)

    def _forms(self, language: str) -> dict[str, str]:
        letters = _LETTERS[language]
        if letters not in self.words:
            self.words[letters] = self._words_of(letters)
        words = self.words[letters]
        stems = snowballs([piece[1:] for piece in words], language)
        return {stem: piece for stem, piece in zip(stems, words, strict=True) if len(stem) >= _SHORTEST_STEM}

    def _words_of(self, letters: re.Pattern[str]) -> list[str]:
        words = [piece for piece in self.places if piece[0] == _START and letters.fullmatch(piece, 1)]
        return sorted(words, key=lambda piece: self.scores[self.places[piece]])  # the likeliest last: it stays

    def _cut(self, run: str) -> Cut:
        text = _START + run
        ends = self._best_ends(text)
        found: list[tuple[str, int]] = []
        end = len(text)
        while end > 0:
            start = ends[end]
            piece = text[start:end]
            number = self.places.get(piece)
            if piece != _START:
                found.append((piece, NO_PIECE if number is None else number >> 1))
            end = start
        return tuple(reversed(found))

    def _best_ends(self, text: str) -> list[int]:
        """For each position, the start of the piece that ends there on the most probable path (Viterbi)."""
        length = len(text)
        best, starts = [0.0] + [-inf] * length, [0] * (length + 1)
        places, scores, reach = self.places, self.scores, self.reach
        best[1] = self.space
        for start in range(length):
            before = best[start]
            if before + _UNKNOWN > best[start + 1]:
                best[start + 1], starts[start + 1] = before + _UNKNOWN, start
            for end in range(start + 1, min(length, start + reach.get(text[start], 0)) + 1):
                number = places.get(text[start:end])
                if number is not None and before + scores[number] > best[end]:
                    best[end], starts[end] = before + scores[number], start
        return starts

    def vectors(self, rows: list[int]) -> NDArray[np.float32]:
        """The vectors of rows, each as long as it says much, shape (k, dim)."""
        packed = self.values.take(rows, axis=0)
        numbers = np.empty((len(rows), 2 * packed.shape[1]), np.float32)
        numbers[:, 0::2] = packed >> 4
        numbers[:, 1::2] = packed & 15
        return np.asarray((numbers - 8) * self.scales.take(rows, axis=0), np.float32)


def load_pieces() -> Pieces:
    """Read the vocabulary, in a fifth of a second."""
    with np.load(_FILE) as file:
        texts = file["texts"].tobytes().decode().split("\n")
        scores = array("f", file["scores"].astype(np.float32).tobytes())
        values, scales, space = file["values"], file["scales"].astype(np.float32)[:, None], float(file["space"])
    numbers = np.flatnonzero(~np.isnan(scores)).tolist()  # of pieces: other forms have no score
    pieces = [texts[number >> 1] if number & 1 else _START + texts[number >> 1] for number in numbers]
    places = dict(zip(pieces, numbers, strict=True))
    reach = {piece[0]: len(piece) for piece in sorted(pieces, key=len)}  # the longest last: it stays
    return Pieces(places, scores, reach, space, values, scales)
