"""Timeliness: how much of what a turn speaks of lies in the time that a question asks about.

A turn speaks of the day on which it was said and of the periods it names: "last May", said in 2023, is May 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial

import numpy as np

from memoryos.language.period import Period, termed
from memoryos.operation.index.turns import Floats, Ints, TurnIndex

_DAY = 24 * 3600 * 10**6  # microseconds
_EPOCH = date(1970, 1, 1).toordinal()


def timeliness(index: TurnIndex, asked: Sequence[Period]) -> Floats:
    """From 0 to 1 for every row, shape (n,)."""
    found = np.zeros(len(index), np.float32)
    if not asked:
        return found
    days = index.derived("days", partial(_days, index))
    for period in asked:
        found[(days >= period.first.toordinal()) & (days <= period.last.toordinal())] = 1
    for term, named in index.derived("periods", partial(_periods, index)).items():
        if share := max(_share(named, period) for period in asked):
            rows, _ = index.having(term)
            found[rows] = np.maximum(found[rows], np.float32(share))
    return found


def _days(index: TurnIndex) -> Ints:
    """The number of the day on which each row was said, shape (n,)."""
    return index.said_at // _DAY + _EPOCH


def _periods(index: TurnIndex) -> Mapping[int, Period]:
    """The periods that rows name, by their terms."""
    named = ((index.postings.number(word), termed(word)) for word in index.postings.words if "/" in word)
    return {term: period for term, period in named if term is not None and period is not None}


def _share(named: Period, asked: Period) -> float:
    """The part of the one that lies in the other."""
    days = min(named.last, asked.last).toordinal() - max(named.first, asked.first).toordinal() + 1
    return max(0, days) / (named.last.toordinal() - named.first.toordinal() + 1)
