"""An embedder without a model: feature hashing of words and character n-grams."""

from __future__ import annotations

import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memoryos.regex import regex

_WORD = regex(r"\w+")
_GRAM_SIZES = (2, 3)  # 2 is a typical Chinese word, 3 tells English stems apart


class Hashing:
    """Knows spelling, not meaning: "car" and "cars" are near, "car" and "automobile" are strangers.

    For tests and for installs that must stay small. Needs no file, loads in no time, and gives the same vectors on
    every machine and in every process.
    """

    name: Final = "hashing-384-v1"  # kept in stores: change it whenever the vectors change
    dim: Final = 384

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one unit row for each text."""
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._vector(text)
        return vectors

    def _vector(self, text: str) -> NDArray[np.float64]:
        counts = Counter(zlib.crc32(feature.encode()) for feature in _features(text))
        hashes = np.fromiter(counts.keys(), dtype=np.uint32, count=len(counts))
        weights = np.sqrt(np.fromiter(counts.values(), dtype=np.float64, count=len(counts)))
        # The sign comes from the top bit, so that two features in one bucket cancel as often as they add up.
        signed = np.where(hashes >> 31, -weights, weights)
        vector = np.bincount(hashes % self.dim, weights=signed, minlength=self.dim)
        length = np.linalg.norm(vector)
        return vector / length if length > 0 else _fixed_vector(self.dim)


def _features(text: str) -> Iterator[str]:
    """Yield each word, and its character n-grams with the word's ends marked."""
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        yield word
        marked = f"<{word}>"
        for size in _GRAM_SIZES:
            for start in range(len(marked) - size + 1):
                yield f"{size}:{marked[start : start + size]}"


def _fixed_vector(dim: int) -> NDArray[np.float64]:
    """A constant unit vector for texts without features, such as "" or "..."."""
    vector = np.zeros(dim)
    vector[0] = 1.0
    return vector
