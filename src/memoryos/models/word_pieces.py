"""MiniLM's word pieces: a text is cut as the tokenizer of that model cuts it (BERT's WordPiece, uncased).

The characters count as signs, marks or nothing as in Unicode 8, whatever Python knows of later ones: vectors in stores
rest on the cuts. The tests compare every character, and random texts, with the library `tokenizers`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from memoryos.regex import regex

UNKNOWN: Final = 100  # the id of a word without pieces
_FOLDER = Path(__file__).parent / "minilm"
_LONGEST_WORD = 100  # characters; a longer one is unknown
_INSIDE = "##"  # before a piece that does not start its word
_SPECIAL = regex(r"\[(?:PAD|UNK|CLS|SEP|MASK)\]")  # as they stand; such a word is a piece of its own
_WORD = regex("[^ ]+")
_CHINESE = regex(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f]"
)


class Piece(NamedTuple):
    """A piece of a text: its id, and its place in the text."""

    id: int
    start: int
    end: int


class WordPieces:
    """Cuts texts of any length. Threads may share one."""

    def __init__(self, vocabulary: Mapping[str, int], letters: Mapping[str, str]) -> None:
        self.vocabulary = vocabulary  #: the id of each piece; one inside a word starts with ##
        self._letters = letters
        self._longest = max(map(len, vocabulary), default=0)

    def cut(self, text: str) -> Iterator[Piece]:
        """The pieces of a text, in their order; a word that has none is one piece, with the id UNKNOWN."""
        start = 0
        for special in _SPECIAL.finditer(text):
            yield from self._cut(text, start, special.start())
            yield Piece(self.vocabulary[special.group()], *special.span())
            start = special.end()
        yield from self._cut(text, start, len(text))

    def number(self, text: str) -> int | None:
        """How many pieces a text has, counted without their places; None where `cut` must say it.

        That is a text with a word that has none, or with what may be a special word.
        """
        if "[" in text:
            return None
        words = _WORD.findall("".join(map(self._letters.__getitem__, text)))
        found = list(map(self._pieces, words))
        return None if any(pieces[0][0] == UNKNOWN for pieces in found) else sum(map(len, found))

    def _cut(self, text: str, start: int, end: int) -> Iterator[Piece]:
        letters = list(map(self._letters.__getitem__, text[start:end]))
        places = [place for place, many in enumerate(letters, start) for _ in many]
        for word in _WORD.finditer("".join(letters)):
            first = word.start()
            for number, one, last in self._pieces(word.group()):
                yield Piece(number, places[first + one], places[first + last - 1] + 1)

    def _pieces(self, word: str) -> list[tuple[int, int, int]]:
        """The ids of a word's pieces with their places in it, each the longest that fits."""
        unknown = [(UNKNOWN, 0, len(word))]
        if len(word) > _LONGEST_WORD:
            return unknown
        found: list[tuple[int, int, int]] = []
        start = 0
        while start < len(word):
            piece = self._longest_piece(word, start)
            if piece is None:
                return unknown
            found.append(piece)
            start = piece[2]
        return found

    def _longest_piece(self, word: str, start: int) -> tuple[int, int, int] | None:
        before = _INSIDE if start else ""
        for end in range(min(len(word), start + self._longest), start, -1):
            number = self.vocabulary.get(before + word[start:end])
            if number is not None:
                return number, start, end
        return None


class _Letters(dict[str, str]):
    """The tokenizer's mapping of characters: lower-case letters, a sign by itself, or a blank."""

    def __init__(self, dropped: str, marks: str, signs: str) -> None:
        self._dropped = re.compile(dropped)
        self._marks = re.compile(marks)
        self._signs = re.compile(signs)

    def __missing__(self, character: str) -> str:
        self[character] = letters = self._of(character)
        return letters

    def _of(self, character: str) -> str:
        if self._dropped.match(character):
            return ""
        if character.isspace():
            return " "
        bare = self._marks.sub("", unicodedata.normalize("NFD", character))
        if _CHINESE.match(character):
            return f" {bare} "
        return "".join(f" {one} " if self._signs.match(one) else one for one in map(str.lower, bare))


@cache
def word_pieces() -> WordPieces:
    """MiniLM's word pieces; the vocabulary is read at the first call."""
    vocabulary = json.loads((_FOLDER / "tokenizer.json").read_bytes())["model"]["vocab"]
    return WordPieces(vocabulary, _Letters(**json.loads((_FOLDER / "characters.json").read_bytes())))
