"""Postings: in which rows each term occurs, and how often.

Most of it lies in two arrays, sorted by term; what came in later lies in a tail of small lists, merged
into the arrays when it has grown. Row numbers ascend within a term.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryos.language.words import stem

Rows = NDArray[np.int32]
Counts = NDArray[np.uint16]
Ints = NDArray[np.int64]

_MOST = np.iinfo(np.uint16).max

_TAIL = 20_000  # postings outside the arrays before they are merged in
_TAIL_SHARE = 0.05  # or this part of the arrays, if that is more
_MANY = 2_000  # new ones at once, which are merged at once if there are a _MANY_SHARE of the others or more:
_MANY_SHARE = 0.1  # to append one to the tail takes more than ten times as long as to move one in the arrays

_TERM_BYTES = 150  # a stem and its entries, roughly
_WORD_BYTES = 120  # a word and its entry, roughly
_TAIL_BYTES = 60  # a posting in the tail, with its part of what its term has there, roughly


class Postings:
    """The inverted index of one owner."""

    def __init__(self) -> None:
        self._terms: dict[str, int] = {}  # stem -> number
        self._numbers: dict[str, int] = {}  # word as it was said -> number of its term
        self._stems: list[str] = []  # by number
        self._words: list[str] = []  # the word that was seen first, by number
        self._starts = np.zeros(1, np.int64)
        self._rows = np.empty(0, np.int32)
        self._counts = np.empty(0, np.uint16)
        self._tail: dict[int, tuple[array[int], array[int]]] = {}  # of terms, rows and counts
        self._tail_size = 0
        self._new: list[tuple[int, Sequence[str]]] = []  # rows that are not in order yet

    @property
    def words(self) -> Sequence[str]:
        """One word for each term, by the term's number."""
        return self._words

    @property
    def stems(self) -> Sequence[str]:
        """The stem of each term, by the term's number."""
        return self._stems

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        arrays = self._starts.nbytes + self._rows.nbytes + self._counts.nbytes
        words = _TERM_BYTES * len(self._words) + _WORD_BYTES * len(self._numbers)
        return arrays + words + _TAIL_BYTES * self._tail_size

    def add(self, row: int, words: Sequence[str]) -> None:
        """Index a row, which must be higher than all before it; `settle` before the next look."""
        self._new.append((row, words))

    def settle(self) -> None:
        """Sort what was added into the tail, or into the arrays if there is enough of it."""
        if not self._new:
            return
        terms, rows, counts = self._counted()
        self._new = []
        if self._is_merged(len(terms)):
            self._merge(terms, rows, counts)
            return
        for term, row, count in zip(terms.tolist(), rows.tolist(), counts.tolist(), strict=True):
            late = self._tail.get(term) or self._tail.setdefault(term, (array("i"), array("H")))
            late[0].append(row)
            late[1].append(count)
        self._tail_size += len(terms)

    def _is_merged(self, count: int) -> bool:
        """Whether so many new postings go into the arrays, with the tail."""
        others = self._tail_size + len(self._rows)
        is_full = self._tail_size + count > max(_TAIL, _TAIL_SHARE * len(self._rows))
        return is_full or count > max(_MANY, _MANY_SHARE * others)

    def merge(self) -> None:
        """Merge the tail into the arrays."""
        self.settle()
        if self._tail:
            self._merge()

    def _counted(self) -> tuple[Ints, Ints, Ints]:
        """How often each term occurs in each new row, by row: terms, rows, counts."""
        known = self._numbers
        found = [known[word] if word in known else self._numbered(word) for _, words in self._new for word in words]
        numbers = np.array(found, np.int64)
        places = np.repeat(np.arange(len(self._new)), [len(words) for _, words in self._new])
        pairs, counts = np.unique(places * len(self._words) + numbers, return_counts=True)
        rows = np.array([row for row, _ in self._new], np.int64)
        place, term = np.divmod(pairs, max(len(self._words), 1))
        return term, rows[place], np.minimum(counts, _MOST)

    def number(self, word: str) -> int | None:
        """The number of the word's term, if it occurs."""
        return self._terms.get(stem(word))

    def number_of_stem(self, form: str) -> int | None:
        """The number of the term with that stem, if it occurs."""
        return self._terms.get(form)

    def size(self, term: int) -> int:
        """The number of rows that contain the term."""
        late = self._tail.get(term)
        settled = self._starts.item(term + 1) - self._starts.item(term) if term < len(self._starts) - 1 else 0
        return settled + (len(late[0]) if late else 0)

    def of(self, term: int) -> tuple[Rows, Counts]:
        """The rows that contain the term and how often they do, shapes (k,)."""
        found = [self._settled(term), *self._late(term)]
        rows, counts = zip(*found, strict=True)
        return found[0] if len(found) == 1 else (np.concatenate(rows), np.concatenate(counts))

    def of_any(self, terms: Ints) -> tuple[Rows, Counts, Ints]:
        """The rows that contain each of the terms, how often they do, and which of the terms it is, shapes (k,).

        They come term by term, in the order of `terms`.
        """
        last = len(self._starts) - 1  # terms from there on are in the tail alone
        starts = self._starts[np.minimum(terms, last)]
        sizes = self._starts[np.minimum(terms + 1, last)] - starts
        places = np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        places += np.arange(len(places))
        rows, counts, sizes = self._with_late(terms, self._rows[places], self._counts[places], sizes)
        return rows, counts, np.repeat(np.arange(len(terms)), sizes)

    def _with_late(self, terms: Ints, rows: Rows, counts: Counts, sizes: Ints) -> tuple[Rows, Counts, Ints]:
        """The postings of each term in the arrays, so many of each, followed by those in the tail; and how many then.

        The tail has few of the terms.
        """
        late = [(place, *self._tail[term]) for place, term in enumerate(terms.tolist()) if term in self._tail]
        if not late:
            return rows, counts, sizes
        numbers, late_rows, late_counts = zip(*late, strict=True)
        having, added = np.array(numbers), np.array([*map(len, late_rows)])
        places = np.repeat(np.cumsum(sizes)[having], added)
        places += np.arange(len(places))
        is_old = np.ones(len(rows) + len(places), np.bool_)
        is_old[places] = False
        sizes[having] += added
        rows = _interleaved(rows, np.frombuffer(b"".join(late_rows), np.int32), places, is_old)
        counts = _interleaved(counts, np.frombuffer(b"".join(late_counts), np.uint16), places, is_old)
        return rows, counts, sizes

    def _settled(self, term: int) -> tuple[Rows, Counts]:
        """The postings of a term in the arrays."""
        if term >= len(self._starts) - 1:
            return self._rows[:0], self._counts[:0]
        own = slice(self._starts[term], self._starts[term + 1])
        return self._rows[own], self._counts[own]

    def _late(self, term: int) -> Iterator[tuple[Rows, Counts]]:
        """The postings of a term in the tail; copy them at once, because they change later."""
        if late := self._tail.get(term):
            yield np.frombuffer(late[0], np.int32), np.frombuffer(late[1], np.uint16)

    def _numbered(self, word: str) -> int:
        """Assign a new word the number of its term."""
        form = stem(word)
        number = self._terms.setdefault(form, len(self._words))
        if number == len(self._words):
            self._stems.append(form)
            self._words.append(word)
        self._numbers[word] = number
        return number

    def _merge(self, *new: Ints) -> None:
        """Append the tail and the new rows to the rows of the same terms in the arrays."""
        terms, rows, counts = self._gathered(*new)
        added = np.bincount(terms, minlength=len(self._words))
        ends = np.full(len(added), len(self._rows), np.int64)  # of what the arrays have of each term
        ends[: len(self._starts) - 1] = self._starts[1:]
        places = ends[terms] + np.arange(len(terms))
        is_old = np.ones(len(self._rows) + len(terms), np.bool_)
        is_old[places] = False
        self._rows = _interleaved(self._rows, rows, places, is_old)
        self._counts = _interleaved(self._counts, counts, places, is_old)
        self._starts = np.append(0, ends + np.cumsum(added))
        self._tail.clear()
        self._tail_size = 0

    def _gathered(self, *new: Ints) -> tuple[NDArray[Any], ...]:
        """Terms, rows and counts of the tail and of what is new, by term; later rows are higher, so they ascend."""
        terms = np.repeat(np.fromiter(self._tail, np.int64), [len(rows) for rows, _ in self._tail.values()])
        rows: NDArray[Any] = np.frombuffer(b"".join(rows for rows, _ in self._tail.values()), np.int32)
        counts: NDArray[Any] = np.frombuffer(b"".join(counts for _, counts in self._tail.values()), np.uint16)
        if new:
            pairs = zip((terms, rows, counts), new, strict=True)
            terms, rows, counts = (np.concatenate(pair) for pair in pairs)
        order = np.argsort(terms, kind="stable")
        return terms[order], rows[order], counts[order]


def _interleaved(old: NDArray[Any], new: NDArray[Any], places: Ints, is_old: NDArray[np.bool_]) -> NDArray[Any]:
    """One array with the new values in these places, and the old ones in the others, in their order."""
    whole = np.empty(len(is_old), old.dtype)
    whole[places] = new
    whole[is_old] = old
    return whole
