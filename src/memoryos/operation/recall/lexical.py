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
from memoryos.language.words import stem
from memoryos.operation.index.turns import Floats, TurnIndex
from memoryos.operation.index.vocabulary import NO_KIN, Kin

NEAR = 0.6  # the weight of the turns directly before and after
NEXT = 0.4  # of those one further

_NOWHERE = (np.empty(0, np.int32), np.empty(0, np.uint16))


@dataclass(frozen=True, slots=True)
class Group:
    """A word of the question and the words that stand for it."""

    word: str
    kin: Kin = NO_KIN


def bm25(index: TurnIndex, words: Sequence[str]) -> Floats:
    """The plain BM25 score of every row, shape (n,)."""
    groups = [Group(word) for word in dict.fromkeys(words)]
    return _scores(index, groups, reach=0)


def bm25_in_context(index: TurnIndex, groups: Sequence[Group]) -> Floats:
    """The BM25 score of every row in its window, shape (n,)."""
    return _scores(index, groups, reach=2)


def attainable(index: TurnIndex, words: Sequence[str]) -> float:
    """About the score of a passage that has each of the words once: the sum of their idf."""
    turns = index.corpus.turns if index.corpus else int(index.alive.sum())
    stems = {stem(word) for word in words}
    return float(sum(idf(found, turns) for found in index.frequencies(stems).values())) if turns else 0.0


def _scores(index: TurnIndex, groups: Sequence[Group], *, reach: int) -> Floats:
    total = np.zeros(len(index), np.float32)
    turns = index.corpus.turns if index.corpus else int(index.alive.sum())
    if not turns or not len(total):
        return total
    saturation = index.derived(f"saturation {reach}", partial(_saturation, index, reach))
    for term, kin in _distinct(index, groups).items():
        weight, rows, counts = _occurrences(index, term, kin, turns)
        found = _spread(index, rows, counts, reach)
        np.divide(found, found + saturation, out=found)  # in place, as all here is done for every turn
        found *= weight * np.float32(K1 + 1)
        total += found
    return total


def _saturation(index: TurnIndex, reach: int) -> Floats:
    """k1·(1 - b + b·L/avg L) of every row, shape (n,)."""
    lengths = _spread(index, np.arange(len(index)), index.lengths, reach)
    mean = lengths[index.alive].mean()
    if index.corpus:  # what stands around a turn grows with the turns
        mean *= index.corpus.mean_length / index.lengths[index.alive].mean()
    mean = max(mean, np.float32(1e-9))
    return np.asarray(K1 * (1 - B + B * lengths / mean), np.float32)


def _distinct(index: TurnIndex, groups: Sequence[Group]) -> dict[int, Kin]:
    """The groups by their word's term; a word that nobody said has none, so its kin gets a number below 0."""
    found: dict[int, Kin] = {}
    for place, group in enumerate(groups, 1):
        term = index.postings.number(group.word)
        found.setdefault(-place if term is None else term, group.kin)
    return found


def _occurrences(index: TurnIndex, term: int, kin: Kin, turns: int) -> tuple[np.float32, NDArray[np.int32], Floats]:
    """The weight of a word; the rows where it or its kin occurs, with repetitions; how much each occurrence counts.

    A rarer kin tells more than the word, a more frequent one less.
    """
    rows, times = index.having(term) if term >= 0 else _NOWHERE
    known = np.array([term] if term >= 0 else [], np.int64)
    frequency = index.frequency(known, np.full(len(known), len(rows))).sum()
    weight = idf(np.float64(frequency), turns)
    others = kin.without({term})
    kin_rows, kin_times, which = index.having_any(others.terms)
    frequencies = index.frequency(others.terms, np.bincount(which, minlength=len(others.terms)))
    worth = (others.shares * idf(frequencies, turns) / weight).astype(np.float32)
    counts: Floats = np.concatenate([times.astype(np.float32), worth[which] * kin_times])
    return np.float32(weight), np.concatenate([rows, kin_rows]), counts


def _spread(index: TurnIndex, rows: NDArray[Any], values: Floats, reach: int) -> Floats:
    """The sum of the values at each row and, weighted by distance, around it, shape (n,); rows may come repeatedly."""
    places, weighted = [rows], [values]
    if reach:
        for step in (index.around.before, index.around.after):
            near = step[rows]
            places += [near, step[near]]
            weighted += [np.float32(NEAR) * values, np.float32(NEXT) * values]
    size = len(index)
    return np.bincount(np.concatenate(places), np.concatenate(weighted), size + 1)[:size].astype(np.float32)
