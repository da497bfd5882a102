"""BM25 (`language/bm25.py`) over turns, plain or over each turn with what was said around it.

Plain, f is how often the word w occurs in the turn and L is its length. In context, both are taken over a window
whose turns count less the farther they are (`NEAR`, `NEXT`), so that an answer is found by the words of its question;
and the words near to w in meaning count as occurrences of it, each by its closeness (`Group`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryos.language.bm25 import K1, B, idf
from memoryos.operation.index.postings import Rows
from memoryos.operation.index.turns import Floats, Ints, TurnIndex
from memoryos.operation.index.vocabulary import NO_KIN, Kin

NEAR = 0.6  # the weight of the turns directly before and after
NEXT = 0.4  # of those one further

_RARE = 8  # of so many rows, at most one is looked at by its number: for more of them it is faster to look at all

_BY_DISTANCE = np.array([1, NEAR, NEXT, NEAR, NEXT], np.float32)
_NO_TERMS, _NO_SHARES, _WHOLE = np.empty(0, np.int64), np.empty(0, np.float32), np.ones(1, np.float32)

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """A word of the question and the words that stand for it."""

    word: str
    kin: Kin = NO_KIN


def bm25(index: TurnIndex, words: Sequence[str]) -> Floats:
    """The plain BM25 score of every row, shape (n,)."""
    said = _occurrences(index, [Group(word) for word in words])
    counts = said.counts / (said.counts + _saturation(index, reach=0)[said.rows])
    counts *= np.repeat(said.weights, said.sizes)
    return np.bincount(said.rows, counts, len(index)).astype(np.float32)


def bm25_in_context(index: TurnIndex, groups: Sequence[Group]) -> Floats:
    """The BM25 score of every row in its window, shape (n,)."""
    said = _occurrences(index, groups)
    places, counts = _spread(index, said.rows, said.counts)
    saturation = _saturation(index, reach=2)
    total = np.zeros(len(index) + 1, np.float32)  # the last place is that of no row
    found = np.zeros(len(total))
    first = 0
    for weight, size in zip(said.weights, said.sizes.tolist(), strict=True):
        own = slice(first, first := first + size)
        _add(total, weight, saturation, found, places[:, own].ravel(), counts[:, own].ravel())
    return total[:-1]


def _add(
    total: Floats, weight: np.float32, saturation: Floats, found: Doubles, places: NDArray[Any], counts: Doubles
) -> None:
    """Add what a word gives to each place; `found` is all zero, before and after.

    Where the word is rare only its places are looked at. A place that comes twice is written twice, the same.
    """
    np.add.at(found, places, counts)
    where: Any = places if _RARE * len(places) < len(total) else slice(None)
    given = found[where].astype(np.float32)
    given /= given + saturation[where]
    given *= weight
    total[where] += given
    found[where] = 0


def _saturation(index: TurnIndex, reach: int) -> Floats:
    """k1·(1 - b + b·L/avg L) of every row, shape (n + 1,); in the last place, which is no row, something above 0."""
    return index.derived(f"saturation {reach}", partial(_saturations, index, reach))


def _saturations(index: TurnIndex, reach: int) -> Floats:
    lengths = index.lengths
    if reach:
        places, weighted = _spread(index, np.arange(len(index)), lengths)
        lengths = np.bincount(places.ravel(), weighted.ravel(), len(index) + 1)[:-1].astype(np.float32)
    mean = lengths[index.alive].mean() if index.alive.any() else np.float32(0)
    if index.corpus and mean:  # what stands around a turn grows with the turns
        mean *= index.corpus.mean_length / index.lengths[index.alive].mean()
    mean = max(mean, np.float32(1e-9))
    return np.append(np.asarray(K1 * (1 - B + B * lengths / mean), np.float32), np.float32(1))


@dataclass(frozen=True, slots=True, eq=False)
class _Said:
    """Where the words of a question occur, word by word; `rows` and `counts` have shape (k,)."""

    weights: Floats  #: of each word
    sizes: Ints  #: how many occurrences each has
    rows: Rows  #: with repetitions
    counts: Floats  #: how much each occurrence counts


def _occurrences(index: TurnIndex, groups: Sequence[Group]) -> _Said:
    """Where each word or its kin occurs. A rarer kin tells more than the word, a more frequent one less."""
    asked = _distinct(index, groups)
    turns = index.corpus.turns if index.corpus else int(index.alive.sum())
    terms = np.concatenate([_NO_TERMS, *(members.terms for members in asked.values())])
    shares = np.concatenate([_NO_SHARES, *(members.shares for members in asked.values())])
    rows, times, which = index.having_any(terms)
    found = np.bincount(which, minlength=len(terms))
    tells = idf(index.frequency(terms, found), turns)

    ends = np.cumsum([len(members.terms) for members in asked.values()], dtype=np.int64)
    sizes = np.diff(ends, prepend=0)
    is_said = np.array([term >= 0 for term in asked], np.bool_)
    weights = np.full(len(sizes), idf(np.float64(0), turns))
    weights[is_said] = tells[(ends - sizes)[is_said]]
    worth = (shares * tells / np.repeat(weights, sizes)).astype(np.float32)
    occurring = np.diff(np.append(0, np.cumsum(found))[ends], prepend=0)
    return _Said(weights.astype(np.float32) * np.float32(K1 + 1), occurring, rows, worth[which] * times)


def _distinct(index: TurnIndex, groups: Sequence[Group]) -> dict[int, Kin]:
    """The words by their terms, each with its kin behind it; one that nobody said is its kin, by a number below 0."""
    found: dict[int, Kin] = {}
    for place, group in enumerate(groups, 1):
        term = index.postings.number(group.word)
        if term is None:
            found[-place] = group.kin
        elif term not in found:
            others = group.kin.without({term})
            found[term] = Kin(np.concatenate([[np.int64(term)], others.terms]), np.concatenate([_WHOLE, others.shares]))
    return found


def _spread(index: TurnIndex, rows: NDArray[Any], values: Floats) -> tuple[Ints, Doubles]:
    """The rows and those around them, with the values weighted by distance, shapes (5, k); `n` stands for no row."""
    before, after = index.around.before[rows], index.around.after[rows]
    places = np.stack([rows, before, index.around.before[before], after, index.around.after[after]])
    return places, np.multiply.outer(_BY_DISTANCE, values).astype(np.float64)
