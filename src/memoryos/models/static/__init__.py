"""A static embedder, shipped with the package: each word piece has one vector, a text has the sum of its pieces'.

The vectors are MiniLM's, computed once; `tools/build_static.py` makes them and has the figures. No network is run, so a
text costs microseconds where MiniLM costs milliseconds; what is lost is word order: "Ann owes Bob" is "Bob owes Ann".
English mostly: what has no vector, such as a Chinese character or an emoji, is matched by itself.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_VECTORS = Path(__file__).parent / "vectors.npz"
_STRANGERS = 4096  # rows for pieces without a vector; two of them share a row once in so many times
_CACHED_WORDS = 32_768  # some 8 MB; looking a word up is many times faster than cutting it
_LONGEST_CACHED = 40  # characters; longer words are hardly met twice
_ROWS_AT_ONCE = 4096  # 4 MB; only a longer text is added up in parts


class Static:
    """Embeds by meaning, with 256 numbers a text, all of it. Threads may share one; it loads at the first use."""

    name: Final = "static-minilm-256"  # kept in stores: change it whenever the vectors change
    dim: Final = 256

    def __init__(self) -> None:
        self._lock = Lock()
        self._table: _Table | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        if not texts:
            return vectors
        table = self._loaded()
        for row, text in enumerate(texts):
            vectors[row] = table.vector(text)
        return vectors

    def _loaded(self) -> _Table:
        with self._lock:
            if self._table is None:
                self._table = _load(self.dim)
            return self._table


@dataclass(frozen=True, slots=True)
class _Table:
    values: NDArray[np.int8]  # (pieces, then strangers; dim)
    scales: NDArray[np.float32]  # one a row
    centre: NDArray[np.float32]  # what texts share whose pieces have vectors, (dim,)
    rows: Callable[[Sequence[str]], Iterable[Sequence[int]]]  # those of each word

    def vector(self, text: str) -> NDArray[np.float32]:
        """The direction of the sum of the text's rows, without what all texts share, shape (dim,)."""
        rows = np.array(list(chain.from_iterable(self.rows(text.split()))), dtype=np.intp)
        # One text at a time and in a fixed order, so that the sum is the same to the last bit whatever it is beside.
        total = self._sum(rows[:_ROWS_AT_ONCE])
        for start in range(_ROWS_AT_ONCE, len(rows), _ROWS_AT_ONCE):
            total += self._sum(rows[start : start + _ROWS_AT_ONCE])
        length = np.sqrt(total @ total)
        if not length > 0:
            return _fixed_vector(len(total))
        strangers = np.count_nonzero(rows >= len(self.values) - _STRANGERS)  # they have nothing in common
        known = np.float32(1 - strangers / len(rows))
        return _unit(total / length - known * self.centre)

    def _sum(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        # `take` gathers whole rows in half the time of an index; the sum is over them in their order.
        scaled = self.values.take(rows, axis=0) * self.scales.take(rows)[:, None]
        total: NDArray[np.float32] = np.add.reduce(scaled, axis=0)
        return total


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = vector / np.sqrt(vector @ vector)
    return unit


def _fixed_vector(dim: int) -> NDArray[np.float32]:
    """For a text without a word, such as "": the direction that says least, never NaN."""
    vector = np.zeros(dim, dtype=np.float32)
    vector[-1] = 1.0
    return vector


def _load(dim: int) -> _Table:
    from memoryos.models.tokenizer import word_pieces

    with np.load(_VECTORS) as file:
        values, scales, centre = file["values"], file["scales"].astype(np.float32), file["centre"]
    strangers = _strangers(dim)
    return _Table(
        values=np.concatenate([values, strangers]),
        scales=np.concatenate([scales, 1 / np.linalg.norm(strangers.astype(np.float32), axis=1)]),
        centre=centre,
        rows=_cutter(word_pieces(), scales > 0),
    )


def _strangers(dim: int) -> NDArray[np.int8]:
    """Directions that have nothing to do with one another, the same on every machine, shape (_STRANGERS, dim)."""
    noise = hashlib.shake_256(b"memoryos").digest(_STRANGERS * dim)
    return np.frombuffer(noise, dtype=np.int8).reshape(_STRANGERS, dim)


def _cutter(tokenizer: Tokenizer, known: NDArray[np.bool_]) -> Callable[[Sequence[str]], Iterable[Sequence[int]]]:
    """Return the function that gives the rows of each word, a part of a text between spaces."""
    whole = {word: (piece,) for word, piece in tokenizer.get_vocab().items() if known[piece] and word.isalpha()}

    def cut(word: str) -> tuple[int, ...]:
        if word.isascii() and (rows := whole.get(word.lower())):
            return rows  # what the tokenizer would find, in a tenth of the time
        encoding = tokenizer.encode(word, add_special_tokens=False)
        return tuple(
            piece if known[piece] else len(known) + _stranger(word[start:end])
            for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        )

    cached = lru_cache(_CACHED_WORDS)(cut)
    return lambda words: map(cached if max(map(len, words), default=0) <= _LONGEST_CACHED else cut, words)


def _stranger(piece: str) -> int:
    return zlib.crc32(piece.lower().encode()) % _STRANGERS
