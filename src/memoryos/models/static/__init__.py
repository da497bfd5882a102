"""A static embedder, shipped with the package: each word piece has one vector, a text has the sum of its pieces'.

The vectors are MiniLM's, computed once; `tools/build_static.py` makes them and has the figures. No network is run, so a
text costs microseconds where MiniLM costs milliseconds; what is lost is word order: "Ann owes Bob" is "Bob owes Ann".
Words of other languages have vectors in the same space (`languages`), which are read when the first of them comes. What
has no vector, such as an emoji, is matched by itself.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryos.models.word_pieces import WordPieces, word_pieces
from memoryos.process_lock import ProcessLock
from memoryos.regex import regex

_VECTORS = Path(__file__).parent / "vectors.npz"
_STRANGERS = 4096  # rows for pieces without a vector; two of them share a row once in so many times
_KEPT_WORDS = 32_768  # some 6 MB; looking a word up is many times faster than cutting it
_LONGEST_KEPT = 40  # characters; longer words are hardly met twice
_ASCII_PARTS = regex("[a-z0-9]+|[^a-z0-9]")  # the tokenizer, too, takes each sign by itself
_ROWS_AT_ONCE = 4096  # 4 MB; only a longer text is added up in parts


class Static:
    """Embeds the whole text as 256 numbers by meaning. Threads may share one; it loads at the first use."""

    name: Final = "static-minilm-256"  # kept in stores: change it whenever the vectors change
    dim: Final = 256

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._table: _Table | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return vectors
        table = self._table or self._loaded()
        words: list[tuple[int, int]] = []
        for place, text in enumerate(texts):
            rows = table.rows(text)
            if len(rows) == 1:
                words.append((place, rows[0]))
            else:
                vectors[place] = table.vector(rows)
        for start in range(0, len(words), _ROWS_AT_ONCE):
            places, alone = zip(*words[start : start + _ROWS_AT_ONCE], strict=True)
            vectors[list(places)] = table.word_vectors(alone)
        return vectors

    def direction_with(self, others: NDArray[np.float32], text: str) -> NDArray[np.float32]:
        """The direction of the sum of some vectors of the same space, shape (k, dim), and what a text's pieces say."""
        table = self._loaded()
        rows = table.rows(text)
        if not len(others):
            return table.vector(rows)
        return table.vector_with(np.add.reduce(others, axis=0), len(others), rows)

    def longest(self, word: str) -> float:
        """The length of the longest row of a word's pieces, about 1 for a rare one; 1 if it has none."""
        table = self._loaded()
        rows = table.rows(word.lower())
        if not rows:
            return 1.0
        if len(rows) == 1:
            vector = table.values[rows[0]] * table.scales[rows[0]]
            return float(np.sqrt(np.add.reduce(vector * vector)))
        vectors = table.scaled(rows)
        return float(np.sqrt(np.add.reduce(vectors * vectors, axis=1).max()))

    def _loaded(self) -> _Table:
        if self._table is None:
            with self._lock:
                self._table = self._table or _load(self.dim)
        return self._table


@dataclass(frozen=True, slots=True)
class _Table:
    values: NDArray[np.int8]  # (pieces, then strangers; dim)
    scales: NDArray[np.float32]  # one a row, (rows, 1)
    centre: NDArray[np.float32]  # what texts share whose pieces have vectors, (dim,)
    words: _WordRows

    def rows(self, text: str) -> list[int]:
        """The rows of a text's pieces."""
        return list(chain.from_iterable(map(self.words.__getitem__, text.split())))

    def vector(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """The direction of the sum of a text's rows, without what all texts share, shape (dim,)."""
        # One text at a time and in a fixed order, so that the sum is the same to the last bit whatever it is beside.
        total = self._sum(rows[:_ROWS_AT_ONCE])
        for start in range(_ROWS_AT_ONCE, len(rows), _ROWS_AT_ONCE):
            total += self._sum(rows[start : start + _ROWS_AT_ONCE])
        length = np.sqrt(total.dot(total))
        if not length > 0:
            return _fixed_vector(len(total))
        return _unit(total / length - self._shared(rows))

    def vector_with(self, others: NDArray[np.float32], count: int, rows: Sequence[int]) -> NDArray[np.float32]:
        """The same for rows beside the sum of `count` vectors that share nothing, shape (dim,)."""
        total = others + self._sum(rows[:_ROWS_AT_ONCE]) if rows else others
        length = np.sqrt(total.dot(total))
        if not length > 0:
            return _fixed_vector(len(total))
        shared = self._shared(rows) * np.float32(len(rows) / (len(rows) + count)) if rows else np.float32(0)
        return _unit(total / length - shared)

    def word_vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """The same for texts of one row each, to the last bit, shape (n, dim): a vocabulary in a third of the time."""
        totals = self.scaled(rows)
        centred = totals / _lengths(totals)
        centred[np.array(rows) < len(self.values) - _STRANGERS] -= self.centre
        return centred / _lengths(centred)

    def _shared(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """The part of the centre that is in these rows; strangers have nothing in common."""
        first = len(self.values) - _STRANGERS
        if max(rows) < first:
            return self.centre
        known = np.float32(1 - sum(row >= first for row in rows) / len(rows))
        return known * self.centre

    def _sum(self, rows: Sequence[int]) -> NDArray[np.float32]:
        total: NDArray[np.float32] = np.add.reduce(self.scaled(rows), axis=0)  # in their order
        return total

    def scaled(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """The vectors of some rows, each as long as it says much, shape (n, dim)."""
        # `take` gathers whole rows in half the time of an index.
        places = np.array(rows, dtype=np.intp)
        scaled: NDArray[np.float32] = self.values.take(places, axis=0) * self.scales.take(places, axis=0)
        return scaled


class _WordRows(dict[str, tuple[int, ...]]):
    """The rows of each word, a part of a text between spaces, with a cache of recent words."""

    def __init__(self, pieces: WordPieces, known: NDArray[np.bool_]) -> None:
        self._pieces = pieces
        self._known = known
        self._whole = {
            part: piece
            for part, piece in pieces.vocabulary.items()
            if known[piece] and part.isascii() and part != "[" and _ASCII_PARTS.fullmatch(part)
        }

    def __missing__(self, word: str) -> tuple[int, ...]:
        piece = self._whole.get(word.lower()) if word.isascii() else None  # as most words are
        rows = self._of_parts(word) or self._cut(word) if piece is None else (piece,)
        if len(word) <= _LONGEST_KEPT:
            if len(self) >= _KEPT_WORDS:
                self.clear()
            self[word] = rows
        return rows

    def _of_parts(self, word: str) -> tuple[int, ...]:
        """The pieces of a word made of known parts, ten times as fast as the tokenizer; empty for other words."""
        if not word.isascii() or "[" in word:  # such as [MASK], which it would not cut
            return ()
        try:
            return tuple(map(self._whole.__getitem__, _ASCII_PARTS.findall(word.lower())))
        except KeyError:
            return ()

    def _cut(self, word: str) -> tuple[int, ...]:
        return tuple(
            piece.id if self._known[piece.id] else len(self._known) + _stranger(word[piece.start : piece.end])
            for piece in self._pieces.cut(word)
        )


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = vector / np.sqrt(vector.dot(vector))
    return unit


def _lengths(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of each by itself, as `vector.dot(vector)` adds up: a product of all at once may differ in the last bit."""
    return np.sqrt([vector.dot(vector) for vector in vectors], dtype=np.float32)[:, None]


def _fixed_vector(dim: int) -> NDArray[np.float32]:
    """A constant unit vector for texts without words, such as ""."""
    vector = np.zeros(dim, dtype=np.float32)
    vector[-1] = 1.0
    return vector


def _load(dim: int) -> _Table:
    with np.load(_VECTORS) as file:
        values, scales, centre = file["values"], file["scales"].astype(np.float32), file["centre"]
    strangers = _strangers(dim)
    return _Table(
        values=np.concatenate([values, strangers]),
        scales=np.concatenate([scales, 1 / np.linalg.norm(strangers.astype(np.float32), axis=1)])[:, None],
        centre=centre,
        words=_WordRows(word_pieces(), scales > 0),
    )


def _strangers(dim: int) -> NDArray[np.int8]:
    """Pseudo-random unit vectors, the same on every machine, shape (_STRANGERS, dim)."""
    noise = hashlib.shake_256(b"memoryos").digest(_STRANGERS * dim)
    return np.frombuffer(noise, dtype=np.int8).reshape(_STRANGERS, dim)


def _stranger(piece: str) -> int:
    return zlib.crc32(piece.lower().encode()) % _STRANGERS
