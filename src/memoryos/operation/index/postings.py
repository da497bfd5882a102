"""Postings: in which rows each term occurs, and how often.

Most of it lies in two arrays, sorted by term; what came in later lies in a tail of small lists, merged
into the arrays when it has grown. Row numbers ascend within a term.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memoryos.language.words import stem

Rows = NDArray[np.int32]
Counts = NDArray[np.uint16]

_MOST = np.iinfo(np.uint16).max

_TAIL = 20_000  # postings outside the arrays before they are merged in
_TAIL_SHARE = 0.2  # or this part of the arrays, if that is more

_WORD_BYTES = 200  # a word, its stem and their entries in the dictionary, roughly
_TAIL_BYTES = 100  # a posting in the tail, roughly


class Postings:
    """The inverted index of one owner."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}  # stem -> number
        self._words: list[str] = []  # the word that was seen first, by number
        self._starts = np.zeros(1, np.int64)
        self._rows = np.empty(0, np.int32)
        self._counts = np.empty(0, np.uint16)
        self._tail: dict[int, list[tuple[int, int]]] = {}
        self._tail_size = 0
        self._new = (array("q"), array("q"), array("q"))  # terms, rows, counts: not in order yet

    @property
    def words(self) -> Sequence[str]:
        """One word for each term, by the term's number."""
        return self._words

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        arrays = self._starts.nbytes + self._rows.nbytes + self._counts.nbytes + 24 * len(self._new[0])
        return arrays + _WORD_BYTES * len(self._words) + _TAIL_BYTES * self._tail_size

    def add(self, row: int, words: Sequence[str]) -> None:
        """Index a row, which must be higher than all before it; `settle` before the next look."""
        counts: Counter[int] = Counter()
        for word, times in Counter(words).items():
            counts[self._number(word)] += times  # several words may be forms of one term
        for term, times in counts.items():
            for column, value in zip(self._new, (term, row, min(times, _MOST)), strict=True):
                column.append(value)

    def settle(self) -> None:
        """Put what was added in order: into the tail, or all into the arrays when that has become worth it."""
        size = self._tail_size + len(self._new[0])
        if size > max(_TAIL, _TAIL_SHARE * len(self._rows)):
            self._merge()
        else:
            for term, row, count in zip(*self._new, strict=True):
                self._tail.setdefault(term, []).append((row, count))
            self._tail_size = size
        self._new = (array("q"), array("q"), array("q"))

    def number(self, word: str) -> int | None:
        """The number of the word's term, if it occurs."""
        return self._terms.get(stem(word))

    def of(self, term: int) -> tuple[Rows, Counts]:
        """The rows that contain the term and how often they do, shapes (k,)."""
        rows, counts = self._settled(term)
        if late := self._tail.get(term):
            rows = np.concatenate([rows, np.fromiter((row for row, _ in late), np.int32, len(late))])
            counts = np.concatenate([counts, np.fromiter((count for _, count in late), np.uint16, len(late))])
        return rows, counts

    def _settled(self, term: int) -> tuple[Rows, Counts]:
        if term >= len(self._starts) - 1:
            return self._rows[:0], self._counts[:0]
        place = slice(self._starts[term], self._starts[term + 1])
        return self._rows[place], self._counts[place]

    def _number(self, word: str) -> int:
        form = stem(word)
        number = self._terms.setdefault(form, len(self._words))
        if number == len(self._words):
            self._words.append(word)
        return number

    def _merge(self) -> None:
        late = [(term, row, count) for term, found in self._tail.items() for row, count in found]
        old = np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))
        columns = [(old, self._rows, self._counts), *([tuple(zip(*late, strict=True))] if late else []), self._new]
        terms, rows, counts = (np.concatenate(parts) for parts in zip(*columns, strict=True))
        order = np.argsort(terms, kind="stable")  # later rows are higher, so each term's rows stay in order
        self._rows = rows[order].astype(np.int32)
        self._counts = counts[order].astype(np.uint16)
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(terms, minlength=len(self._words)))])
        self._tail.clear()
        self._tail_size = 0
