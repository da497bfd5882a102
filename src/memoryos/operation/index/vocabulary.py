"""Kin: the words of an owner's turns that mean nearly what a question's word means.

"Which cities has Jon visited?" should find a turn that says Rome. Each word has a vector of its own, so this takes
one product of the question's words with the vocabulary, and no model call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from memoryos.models.embedder import Embedder
from memoryos.operation.index.column import Matrix

CLOSE = 0.3  # cosine from which on a word is kin
MOST = 30  # kin of one word
SHARE = 0.4  # what an occurrence of a perfectly close word counts, beside the word itself


class Vocabulary:
    """The vectors of an owner's words, in the order of their terms."""

    def __init__(self, lexicon: Embedder) -> None:
        self._lexicon = lexicon
        self._vectors = Matrix(lexicon.dim)

    @property
    def nbytes(self) -> int:
        """Bytes held, unused rows included."""
        return self._vectors.nbytes

    def kin(self, words: Sequence[str], known: Sequence[str]) -> dict[str, Mapping[str, float]]:
        """For each word, the known words close to it and how much an occurrence counts.

        `known` grows from call to call. Only words of Latin letters have kin: the lexicon knows no others.
        """
        self._follow(known)
        asked = [word for word in dict.fromkeys(words) if _has_meaning(word)]
        vectors = self._lexicon.embed(asked)
        return {word: self._near(vector, known) for word, vector in zip(asked, vectors, strict=True)}

    def _near(self, vector: np.ndarray, known: Sequence[str]) -> Mapping[str, float]:
        closeness = self._vectors.dot(vector)
        close = np.flatnonzero(closeness >= CLOSE)
        best = close[np.argsort(-closeness[close], kind="stable")[:MOST]]
        return MappingProxyType({known[number]: SHARE * float(closeness[number]) for number in best})

    def _follow(self, known: Sequence[str]) -> None:
        new = known[len(self._vectors) :]
        if new:
            vectors = self._lexicon.embed(new)
            vectors[[not _has_meaning(word) for word in new]] = 0
            self._vectors.append(vectors)


def _has_meaning(word: str) -> bool:
    """Whether a word has a vector worth comparing: numbers and other scripts have none."""
    return len(word) > 1 and word.isascii() and word.isalpha()
