"""Kin: the words of an owner's turns that mean nearly what a question's word means.

"Which cities has Jon visited?" should find a turn that says Rome. Each word has a vector of its own, so this takes
one product of the question's words with the vocabulary, and no model call.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryos.language.words import ARABIC_END, ARABIC_FIRST
from memoryos.models.embedder import Embedder
from memoryos.operation.index.column import Matrix

CLOSE = 0.4  # cosine from which on a word is kin
MOST = 30  # kin of one word
NUMBERS = 128  # of a word's vector that are compared: as good as 256, in half the time
REMEMBERED = 4_096  # words whose kin is kept
_AT_A_TIME = 4_096  # words whose vectors are made at once: those of a whole vocabulary take much memory
_KIN_BYTES = 70  # of one word near to another, roughly
SHARE = 0.4  # what an occurrence of a perfectly close word counts, beside the word itself

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Kin:
    """The terms close to a word, in ascending order, and how close each is, up to 1."""

    terms: Sequence[int] = ()  # no arrays: of a few dozen numbers each, they take longer
    closeness: Sequence[float] = ()

    def without(self, terms: Set[int]) -> Kin:
        """The others."""
        if terms.isdisjoint(self.terms):  # as it mostly is
            return self
        others = [place for place, term in enumerate(self.terms) if term not in terms]
        return Kin([self.terms[place] for place in others], [self.closeness[place] for place in others])

    def without_one(self, term: int) -> Kin:
        """The others than one term, a few times as fast."""
        if term not in self.terms:
            return self
        place = self.terms.index(term)
        terms, closeness = self.terms, self.closeness
        return Kin([*terms[:place], *terms[place + 1 :]], [*closeness[:place], *closeness[place + 1 :]])


NO_KIN = Kin()


def shares(closeness: Sequence[float]) -> Floats:
    """How much one occurrence of each of these kin counts beside the word itself, shape (k,)."""
    return np.float32(SHARE) * np.array(closeness, np.float32)


@dataclass(frozen=True, slots=True)
class _Near:
    """The words close to one word among the first `upto` words."""

    kin: Kin
    upto: int


class Vocabulary:
    """The vectors of an owner's words, in the order of their terms."""

    def __init__(self, lexicon: Embedder) -> None:
        self._lexicon = lexicon
        self._vectors = Matrix(min(NUMBERS, lexicon.dim))
        self._near: OrderedDict[str, _Near] = OrderedDict()  # of words asked for; the latest is last

    @property
    def nbytes(self) -> int:
        """The size in bytes, including unused rows."""
        return self._vectors.nbytes + len(self._near) * _KIN_BYTES * MOST

    def follow(self, known: Sequence[str]) -> None:
        """Add the new known words."""
        while new := known[len(self._vectors) :][:_AT_A_TIME]:
            places = [place for place, word in enumerate(new) if _has_meaning(word)]
            vectors = np.zeros((len(new), min(NUMBERS, self._lexicon.dim)), np.float32)
            vectors[places] = self._embed([new[place] for place in places])
            self._vectors.append(vectors)

    def kin(self, words: Sequence[str], known: Sequence[str]) -> dict[str, Kin]:
        """For each word, the known words close to it, each by its number among the known.

        `known` grows from call to call. Only English words and those of Arabic letters have kin.
        """
        self.follow(known)
        asked = [word for word in dict.fromkeys(words) if _has_meaning(word)]
        self._look(asked)
        return {word: self._near[word].kin for word in asked}

    def _look(self, words: Sequence[str]) -> None:
        """Compare the words with those they were not compared with before."""
        behind: dict[int, list[str]] = {}
        for word in words:
            upto = self._near[word].upto if word in self._near else 0
            behind.setdefault(upto, []).append(word)
        for upto, group in behind.items():
            if upto < len(self._vectors) or not upto:
                rows, columns, closeness = self._vectors.near(self._embed(group), CLOSE, upto)
                order = np.argsort(columns, kind="stable")
                rows, nearness = rows[order], np.minimum(closeness[order], 1)  # a rounding error may lie above it
                ends = np.cumsum(np.bincount(columns, minlength=len(group))).tolist()
                for word, start, end in zip(group, [0, *ends], ends, strict=False):
                    found = _best(self._near.get(word), rows[start:end], nearness[start:end], len(self._vectors))
                    self._near[word] = found
        for word in words:
            self._near.move_to_end(word)
        while len(self._near) > max(REMEMBERED, len(words)):
            self._near.popitem(last=False)

    def _embed(self, words: Sequence[str]) -> Floats:
        """The directions of words in the first, most informative dimensions of the lexicon's vectors."""
        vectors = self._lexicon.embed(words)[:, :NUMBERS]
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)


def _best(before: _Near | None, numbers: Ints, values: Floats, upto: int) -> _Near:
    """The closest of those found before and those found now."""
    if before:
        numbers = np.concatenate([np.array(before.kin.terms, np.int64), numbers])
        values = np.concatenate([np.array(before.kin.closeness, np.float32), values])
    if len(numbers) > MOST:
        worst = np.partition(values, -MOST)[-MOST]
        (above,), (ties,) = (values > worst).nonzero(), (values == worst).nonzero()
        ties = ties[: MOST - len(above)]  # the earlier words
        best = np.sort(np.concatenate([above, ties]))
        numbers, values = numbers[best], values[best]
    return _Near(Kin(tuple(numbers.tolist()), tuple(values.tolist())), upto)


def _has_meaning(word: str) -> bool:
    """Whether a word has a vector worth comparing: numbers have none, and in most scripts kin does not help.

    Beside English it does in Arabic, whose words have a row for their stem, so that few are cut to pieces.
    """
    return len(word) > 1 and word.isalpha() and (word.isascii() or ARABIC_FIRST <= word[0] <= ARABIC_END)
