"""BM25 over turns, plain or over each turn with what was said around it.

    score(q, t) = Σ idf(w) · f·(k1 + 1) / (f + k1·(1 - b + b·L/avg L))        (Robertson & Zaragoza 2009, equation 3.15)

Plain, f is how often the word w occurs in the turn and L is its length. In context, both are taken over a window
whose turns count less the farther they are (`NEAR`, `NEXT`), so that an answer is found by the words of its question;
and the words near to w in meaning count as occurrences of it, each by its closeness (`Group`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memoryos.operation.index.turns import Floats, TurnIndex

K1 = 1.2
B = 0.75
NEAR = 0.6  # the weight of the turns directly before and after
NEXT = 0.4  # of those one further

_NOWHERE = (np.empty(0, np.int32), np.empty(0, np.uint16))


@dataclass(frozen=True, slots=True)
class Group:
    """A word of the question and the words that stand for it."""

    word: str
    kin: Mapping[str, float]  #: other words and how much one occurrence counts, above 0 and below 1


def bm25(index: TurnIndex, words: Sequence[str]) -> Floats:
    """The plain BM25 score of every row, shape (n,)."""
    groups = [Group(word, {}) for word in dict.fromkeys(words)]
    return _scores(index, groups, reach=0)


def bm25_in_context(index: TurnIndex, groups: Sequence[Group]) -> Floats:
    """The BM25 score of every row in its window, shape (n,)."""
    return _scores(index, groups, reach=2)


def _scores(index: TurnIndex, groups: Sequence[Group], *, reach: int) -> Floats:
    total = np.zeros(len(index), np.float32)
    turns = int(index.alive.sum())
    if not turns:
        return total
    lengths = _spread(index, index.lengths, reach)
    saturation = np.float32(K1) * (1 - B + B * lengths / max(lengths[index.alive].mean(), 1e-9))
    for term, kin in _distinct(index, groups).items():
        weight, counts = _occurrences(index, term, kin, turns)
        found = _spread(index, counts, reach)
        total += weight * found * (K1 + 1) / (found + saturation)
    return total


def _distinct(index: TurnIndex, groups: Sequence[Group]) -> dict[int, Mapping[str, float]]:
    """The groups by their word's term; a word that nobody said has none, so its kin gets a number below 0."""
    found: dict[int, Mapping[str, float]] = {}
    for place, group in enumerate(groups, 1):
        term = index.postings.number(group.word)
        found.setdefault(-place if term is None else term, group.kin)
    return found


def _occurrences(index: TurnIndex, term: int, kin: Mapping[str, float], turns: int) -> tuple[np.float32, Floats]:
    """The weight of a word, and how often it or its kin occurs in each row.

    A rarer kin tells more than the word, a more frequent one less.
    """
    rows, times = index.having(term) if term >= 0 else _NOWHERE
    weight = _idf(len(rows), turns)
    found = [(rows, times.astype(np.float32))]
    for other, closeness in _terms(index, kin).items():
        if other != term:
            rows, times = index.having(other)
            found.append((rows, np.float32(closeness * _idf(len(rows), turns) / weight) * times))
    every, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return np.float32(weight), np.bincount(every, counts, len(index)).astype(np.float32)


def _terms(index: TurnIndex, kin: Mapping[str, float]) -> dict[int, float]:
    known = ((index.postings.number(word), closeness) for word, closeness in kin.items())
    return {term: closeness for term, closeness in known if term is not None}


def _idf(frequency: int, turns: int) -> float:
    return float(np.log1p((turns - frequency + 0.5) / (frequency + 0.5)))


def _spread(index: TurnIndex, values: Floats, reach: int) -> Floats:
    """Each row's value and those of its neighbours, weighted by distance."""
    if not reach:
        return values
    around = index.around
    total = values.copy()
    padded = np.append(values, np.float32(0))
    for neighbours in (around.before, around.after):
        near = padded.take(neighbours)
        total += np.float32(NEAR) * near
        total += np.float32(NEXT) * np.append(near, np.float32(0)).take(neighbours)
    return total
