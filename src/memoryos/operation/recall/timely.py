"""Timeliness: how well the times of a turn match the time that a question asks about.

A turn speaks of the day on which it was said and of the periods it names: "last May", said in 2023, is May 2022.
A question that names a month or a day without a year asks about those days of every year.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial

import numpy as np

from memoryos.language.bounds import Bound
from memoryos.language.calendar import MONTHS
from memoryos.language.period import Period, day_of, termed
from memoryos.language.times import asked_periods, asked_times, named_periods, untimed, without_times
from memoryos.language.words import index_words
from memoryos.language.yearly import Yearly, yearly, yearly_asked
from memoryos.operation.index.postings import Rows
from memoryos.operation.index.turns import Flags, Floats, Ints, TurnIndex

DAY = 24 * 3600 * 10**6  # microseconds
_EPOCH = date(1970, 1, 1).toordinal()
_FIRST_YEAR = 1970
_OUTSIDE = {Bound.BEFORE, Bound.AFTER}
_MONTHS = 12
_SAME_MONTH = 0.75  # people are off by some days: they say "early March" on 12 March too


@dataclass(frozen=True, slots=True)
class AskedTime:
    """The time that a question asks about."""

    periods: Sequence[Period]
    every_year: Sequence[Yearly]

    @classmethod
    def of(cls, text: str, at: datetime | None) -> AskedTime:
        """The time that a text names, which is asked at that moment; without a moment, only days of every year."""
        if at is None:
            return cls((), yearly_asked(text))
        return cls(asked_periods(text, at), yearly_asked(untimed(text, at)))

    def __bool__(self) -> bool:
        return bool(self.periods or self.every_year)

    def matches(self, text: str, said_at: datetime) -> float:
        """How well a text was said at that time, or names it, from 0 to 1."""
        named = [day_of(said_at.date()), *named_periods(text, said_at)]
        shares = [_share(one, period) for one in named for period in self.periods]
        told = yearly(text)
        said_on = Yearly(said_at.month, said_at.day, said_at.day)
        shares += [_same_days(one, days) for one in (said_on, *told) for days in self.every_year]
        shares += [_SAME_MONTH for period in self.periods for one in told if _is_month(period, one, said_at)]
        return max(shares, default=0.0)


def _is_month(period: Period, named: Yearly, said_at: datetime) -> bool:
    """Whether "in May", said at that moment, may mean a month in which a period lies."""
    is_near = abs(period.first.year - said_at.year) <= 1
    return is_near and period.first.month == named.month and len(period.words) > 1


def _same_days(named: Yearly, asked: Yearly) -> float:
    if named.month != asked.month:
        return 0.0
    return 1.0 if named.first <= asked.last and asked.first <= named.last else _SAME_MONTH


def words_left_out(text: str, asked_at: datetime | None) -> frozenset[str]:
    """The years, months and days that a question leaves out: "before May 2021" and "after 2021" ask about other days.

    These words do not count in the date on which a passage was said, but only where people said them. "The week before
    9 June" keeps its words, because people tell of that week on 9 June.
    """
    mentions = [one for one in asked_times(text, asked_at) if one.bound in _OUTSIDE] if asked_at else []
    if not mentions:
        return frozenset()
    dates = {word for word in index_words(text) if word.isdecimal() or word.capitalize() in MONTHS}
    return frozenset(dates.difference(index_words(without_times(text, mentions))))


def is_in_date(index: TurnIndex, word: str, rows: Rows) -> Flags:
    """Whether the year, the month or the day on which each of these rows was said is that word, shape (k,)."""
    said = index.said_at[rows].astype("datetime64[us]")
    months, days = said.astype("datetime64[M]"), said.astype("datetime64[D]")
    if not word.isdecimal():
        return np.asarray(months.astype(np.int64) % _MONTHS == MONTHS.index(word.capitalize()))
    years = said.astype("datetime64[Y]").astype(np.int64) + _FIRST_YEAR
    return np.asarray((years == int(word)) | ((days - months).astype(np.int64) + 1 == int(word)))


def timeliness(index: TurnIndex, asked: Sequence[Period], every_year: Sequence[Yearly] = ()) -> Floats:
    """From 0 to 1 for every row, shape (n,)."""
    found = np.zeros(len(index), np.float32)
    if asked:
        _count_periods(index, asked, found)
    for days in every_year:
        np.maximum(found, _in_any_year(index, days), out=found)
    return found


def _count_periods(index: TurnIndex, asked: Sequence[Period], found: Floats) -> None:
    days = index.derived("days", partial(_days, index))
    for period in asked:
        found[(days >= period.first.toordinal()) & (days <= period.last.toordinal())] = 1
    for term, named in index.derived("periods", partial(_periods, index)).items():
        if share := max(_share(named, period) for period in asked):
            rows, _ = index.having(term)
            found[rows] = np.maximum(found[rows], np.float32(share))


def _in_any_year(index: TurnIndex, asked: Yearly) -> Floats:
    """1 on the days asked for, and _SAME_MONTH on the other days of their month, shape (n,)."""
    months, days = index.derived("months", partial(_months, index))
    is_meant = (days >= asked.first) & (days <= asked.last)
    return np.where(months == asked.month, np.where(is_meant, np.float32(1), np.float32(_SAME_MONTH)), np.float32(0))


def _months(index: TurnIndex) -> tuple[Ints, Ints]:
    """The month from 1 and the day of the month on which each row was said, shapes (n,)."""
    said = index.said_at.astype("datetime64[us]")
    months = said.astype("datetime64[M]")
    days = (said.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64)
    return months.astype(np.int64) % _MONTHS + 1, days + 1


def _days(index: TurnIndex) -> Ints:
    """The number of the day on which each row was said, shape (n,)."""
    return index.said_at // DAY + _EPOCH


def _periods(index: TurnIndex) -> Mapping[int, Period]:
    """The periods that rows name, by their terms."""
    named = ((index.postings.number(word), termed(word)) for word in index.postings.words if "/" in word)
    return {term: period for term, period in named if term is not None and period is not None}


def _share(named: Period, asked: Period) -> float:
    """The share of one period that is inside the other."""
    days = min(named.last, asked.last).toordinal() - max(named.first, asked.first).toordinal() + 1
    return max(0, days) / (named.last.toordinal() - named.first.toordinal() + 1)
