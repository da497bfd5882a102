"""BM25 (`language/bm25.py`) over turns, plain or over each turn with what was said around it.

Plain, f is how often the word w occurs in the turn and L is its length. In context, both are taken over a window
whose turns count less the farther they are (`recall/window.py`), so that an answer is found by the words of its
question; and the words near to w in meaning count as occurrences of it, each by its closeness (`WordGroup`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from memoryos.language.bm25 import K1, B, idf
from memoryos.language.words import stem
from memoryos.operation.index.postings import Counts, Rows
from memoryos.operation.index.turns import Floats, Ints, TurnIndex
from memoryos.operation.index.vocabulary import NO_KIN, Kin, shares
from memoryos.operation.recall.timely import is_in_date
from memoryos.operation.recall.window import Places, around, layout, spread, spread_into

_RARE = 50  # places for each row that has a word: from there on only the places around these rows are looked at


@dataclass(frozen=True, slots=True)
class WordGroup:
    """A word of the question and the words that stand for it."""

    word: str
    kin: Kin = NO_KIN
    in_dates: bool = True  #: whether the word counts in the date on which a passage was said


def bm25(index: TurnIndex, words: Sequence[str], undated: Collection[str] = ()) -> Floats:
    """The plain BM25 score of every row, shape (n,); the words in `undated` do not count in dates."""
    known = dict.fromkeys(map(index.postings.number, words))
    terms = np.array([term for term in known if term is not None], np.int64)
    rows, times, which = index.having_any(terms)
    if left_out := set(words).intersection(undated):
        _leave_dates_out(index, left_out, rows, times, terms[which])
    found = np.bincount(which, minlength=len(terms))
    weights = idf(index.frequency(terms, found), index.total).astype(np.float32) * np.float32(K1 + 1)
    counts = times.astype(np.float32)
    counts /= counts + index.derived("saturation", partial(_alone, index))[rows]
    counts *= np.repeat(weights, found)
    return np.bincount(rows, counts, len(index)).astype(np.float32)


def bm25_in_context(index: TurnIndex, groups: Sequence[WordGroup]) -> Floats:
    """The BM25 score of every row in its window, shape (n,)."""
    said, laid = _occurrences(index, groups), layout(index)
    saturation = index.derived("saturation of windows", partial(_windows, index))
    total, found, given, room = np.zeros((4, laid.size), np.float32)
    places = laid.places[said.rows]
    first = 0
    for weight, size in zip(said.weights, said.sizes.tolist(), strict=True):
        own = slice(first, first := first + size)
        if _RARE * size < laid.size:
            _add_rare(total, weight, saturation, found, places[own], said.counts[own])
            continue
        np.add.at(found, places[own], said.counts[own])
        spread_into(given, found, room)
        _add(total, weight, saturation, found, given)
    return total[laid.places]


def identified(index: TurnIndex, words: Sequence[str]) -> Floats:
    """The share of these words, weighted by rarity, that each row itself has, from 0 to 1, shape (n,)."""
    found = np.zeros(len(index), np.float32)
    terms = np.array([term for word in words if (term := index.postings.number(word)) is not None], np.int64)
    if len(terms):
        turns = index.total
        rows, _, which = index.having_any(terms)
        weights = idf(index.frequency(terms, np.bincount(which, minlength=len(terms))), turns)
        shares = weights / idf(np.float64(0), turns) / len(words)
        np.add.at(found, rows, shares.astype(np.float32)[which])
    return found


def attainable(index: TurnIndex, words: Sequence[str]) -> float:
    """The approximate score of a passage that has each word once: the sum of their idf."""
    turns = index.total
    stems = {stem(word) for word in words}
    found = index.frequencies(stems)
    return float(sum(idf(found.get(form, 0), turns) for form in stems)) if turns else 0.0


def _add(total: Floats, weight: np.float32, saturation: Floats, found: Floats, given: Floats) -> None:
    """Add to each place the score of a word that occurs `given` times around it; `found` is all zero afterwards."""
    np.add(given, saturation, out=found)
    given /= found
    given *= weight
    total += given
    found.fill(0)


def _add_rare(
    total: Floats, weight: np.float32, saturation: Floats, found: Floats, places: Places, counts: Floats
) -> None:
    """The same for a rare word; a place that occurs twice gets the same value twice."""
    near, weighted = around(places, counts)
    np.add.at(found, near, weighted)
    given = found[near]
    given /= given + saturation[near]
    given *= weight
    total[near] += given
    found[near] = 0


def _alone(index: TurnIndex) -> Floats:
    """k1·(1 - b + b·L/avg L) of every row, shape (n,)."""
    return _saturation(index.lengths, index.mean_length)


def _windows(index: TurnIndex) -> Floats:
    """The same for the window around every place; L is 0 in empty places."""
    laid = layout(index)
    lengths = np.zeros(laid.size, np.float32)
    lengths[laid.places] = index.lengths
    lengths = spread(lengths)
    mean = lengths[laid.places][index.alive].mean() if index.alive.any() else 0
    if index.corpus and mean:  # the number of neighbours grows with the number of turns
        mean *= index.corpus.mean_length / index.lengths[index.alive].mean()
    return _saturation(lengths, mean)


def _saturation(lengths: Floats, mean: float) -> Floats:
    return np.asarray(K1 * (1 - B + B * lengths / max(mean, 1e-9)), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _Occurrences:
    """Where the words of a question occur, word by word; `rows` and `counts` have shape (k,)."""

    weights: Floats  #: of each word
    sizes: Ints  #: how many occurrences each has
    rows: Rows  #: with repetitions
    counts: Floats  #: how much each occurrence counts


def _occurrences(index: TurnIndex, groups: Sequence[WordGroup]) -> _Occurrences:
    """Where each word or its kin occurs. A rarer kin counts more than the word, a more frequent one less."""
    asked = _distinct(index, groups)
    turns = index.total
    terms, shares, sizes = _members(asked)
    rows, times, which = index.having_any(terms)
    if undated := {group.word for group in groups if not group.in_dates}:
        _leave_dates_out(index, undated, rows, times, terms[which])
    found = np.bincount(which, minlength=len(terms))
    tells = idf(index.frequency(terms, found), turns)

    ends = np.cumsum(sizes)
    is_said = np.array([term >= 0 for term in asked], np.bool_)
    weights = np.full(len(sizes), idf(np.float64(0), turns))
    weights[is_said] = tells[(ends - sizes)[is_said]]
    worth = (shares * tells / np.repeat(weights, sizes)).astype(np.float32)
    upto = np.append(0, np.cumsum(found))
    occurring = upto[ends] - upto[ends - sizes]
    return _Occurrences(weights.astype(np.float32) * np.float32(K1 + 1), occurring, rows, worth[which] * times)


def _members(asked: Mapping[int, Kin]) -> tuple[Ints, Floats, Ints]:
    """Each word that is said, whole, and its kin with their shares, shapes (k,); and how many that is for each word."""
    terms: list[int] = []
    closeness: list[float] = []
    sizes, wholes = [], []
    for term, kin in asked.items():
        before = len(terms)
        if term >= 0:
            wholes.append(before)
            terms.append(term)
            closeness.append(1.0)
        terms += kin.terms
        closeness += kin.closeness
        sizes.append(len(terms) - before)
    known = shares(closeness)
    known[wholes] = 1
    return np.array(terms, np.int64), known, np.array(sizes, np.int64)


def _leave_dates_out(index: TurnIndex, words: Collection[str], rows: Rows, times: Counts, terms: Ints) -> None:
    """Count one occurrence less of these words, which do not count in dates, where the row's date has them."""
    for word in words:
        own = np.flatnonzero(terms == index.postings.number(word))
        times[own] -= is_in_date(index, word, rows[own])


def _distinct(index: TurnIndex, groups: Sequence[WordGroup]) -> dict[int, Kin]:
    """The kin of each word by its term number; a word that nobody said has a negative number."""
    found: dict[int, Kin] = {}
    for place, group in enumerate(groups, 1):
        term = index.postings.number(group.word)
        if term is None:
            found[-place] = group.kin
        elif term not in found:
            found[term] = group.kin.without_one(term)  # a word is its own kin, too
    return found
