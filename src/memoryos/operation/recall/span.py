"""Span: the turns of a period in order, and its division into shorter periods.

A period is split at its strongest break: between years, then months, weeks, days, sittings, topics. So a run of turns
is a number of whole years, or of months of one year, and so on down to the single turn.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoryos.operation.index.turns import SITTING_PAUSE, Flags, Floats, Ints, TurnIndex

_MONDAY = 3  # 1 January 1970 was a Thursday


class Break(IntEnum):
    """The unit that ends between two turns; a higher value is a stronger break."""

    NONE = 0
    TOPIC = 1
    SITTING = 2
    DAY = 3
    WEEK = 4
    MONTH = 5
    YEAR = 6


class TurnRun(NamedTuple):
    """Turns that follow each other in a span, from `first` to before `end`."""

    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Span:
    """Some turns of an index by time."""

    index: TurnIndex
    rows: Ints  #: shape (n,)
    worth: Floats  #: the value of each turn in more detail, shape (n,)
    breaks: NDArray[np.int8]  #: the Break before each turn, shape (n,)

    @classmethod
    def of(cls, index: TurnIndex, rows: Ints, worth: Floats) -> Span:
        """The span of these rows; `worth` has a number for each."""
        by_time = np.lexsort((index.order[rows], index.said_at[rows]))
        ordered = rows[by_time]
        return cls(index, ordered, worth[by_time], _breaks(index, ordered))

    def __len__(self) -> int:
        """The number of passages."""
        return len(self.rows)

    @property
    def turns(self) -> int:
        """The number of turns that the passages belong to."""
        return self.index.count_turns(self.rows)

    @property
    def days(self) -> Ints:
        """The day (UTC) of each turn, counted from the epoch, shape (n,)."""
        return _days(self.index.said_at[self.rows])

    def where(self, chosen: Flags) -> Span:
        """The span of some of the turns."""
        return Span.of(self.index, self.rows[chosen], self.worth[chosen])

    def best(self) -> Ints:
        """The places of the turns, the worthiest first and the later first in a tie, shape (n,)."""
        return np.lexsort((-np.arange(len(self)), -self.worth))

    def runs(self, count: int) -> list[TurnRun]:
        """Split the span into at most `count` runs, in order; the most valuable run is split repeatedly."""
        if not len(self):
            return []
        sums = np.concatenate(([0.0], np.cumsum(self.worth, dtype=np.float64)))
        whole = TurnRun(0, len(self))
        heap = [(-sums[-1], whole)]
        single: list[TurnRun] = []
        while heap and len(heap) + len(single) < count:
            _, run = heapq.heappop(heap)
            if run.end - run.first == 1:
                single.append(run)
                continue
            for part in self._halves(run):
                heapq.heappush(heap, (sums[part.first] - sums[part.end], part))
        return sorted([*single, *(run for _, run in heap)])

    def _halves(self, run: TurnRun) -> Iterator[TurnRun]:
        """Split the run at its strongest break; among equal ones, at the one nearest to the middle."""
        breaks = self.breaks[run.first + 1 : run.end]
        places = np.flatnonzero(breaks == breaks.max()) + run.first + 1
        middle = int(places[np.abs(2 * places - run.first - run.end).argmin()])
        yield TurnRun(run.first, middle)
        yield TurnRun(middle, run.end)


def _breaks(index: TurnIndex, rows: Ints) -> NDArray[np.int8]:
    """The break before each row, shape (n,); none before the first."""
    said_at, facets = index.said_at[rows], index.facets
    days = _days(said_at)
    months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
    found = np.zeros(len(rows), np.int8)
    ends = {  # weaker breaks first: stronger ones overwrite them
        Break.TOPIC: _changes(facets.segments[rows]),
        Break.SITTING: _changes(facets.sessions[rows]) | (np.diff(said_at, prepend=said_at[:1]) > SITTING_PAUSE),
        Break.DAY: _changes(days),
        Break.WEEK: _changes((days + _MONDAY) // 7),
        Break.MONTH: _changes(months),
        Break.YEAR: _changes(months // 12),
    }
    for kind, here in ends.items():
        found[here] = kind
    return found


def _changes(values: NDArray[np.integer]) -> Flags:
    return np.asarray(np.diff(values, prepend=values[:1]) != 0, np.bool_)


def _days(micros: Ints) -> Ints:
    return micros // (24 * 3600 * 10**6)
