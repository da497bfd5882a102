"""Periods: stretches of whole days, as expressions of time mean them."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from memoryos.language.calendar import MONTHS

WEEK = 7  # days
YEAR = 12  # months
DECADE, CENTURY = 10, 100  # years
_SATURDAY = 5
_TO = "/"


class Grain(StrEnum):
    """The unit of a period, such as day or month."""

    DAY = "day"
    WEEK = "week"  # from Monday on
    WEEKEND = "weekend"
    MONTH = "month"
    YEAR = "year"
    SPAN = "span"  # any other


@dataclass(frozen=True, slots=True)
class Period:
    """The days from `first` to `last`, both included."""

    first: date
    last: date
    grain: Grain = Grain.SPAN

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValueError(f"{self.last} is before {self.first}")

    @property
    def words(self) -> tuple[str, ...]:
        """The year and the month that all its days share, as words of an index."""
        if self.first.year != self.last.year:
            return ()
        year = str(self.first.year)
        return (MONTHS[self.first.month - 1].lower(), year) if self.first.month == self.last.month else (year,)

    @property
    def term(self) -> str:
        """The period as one word of an index, which no text has: the interval in ISO 8601."""
        return f"{self.first}{_TO}{self.last}"


def termed(word: str) -> Period | None:
    """The period whose term this is; None for any other word."""
    first, is_term, last = word.partition(_TO)
    return Period(date.fromisoformat(first), date.fromisoformat(last)) if is_term else None


def day_of(day: date) -> Period:
    """The period of one day."""
    return Period(day, day, Grain.DAY)


def week_of(day: date) -> Period:
    """The week from Monday to Sunday that the day lies in."""
    monday = day - timedelta(days=day.weekday())
    return Period(monday, monday + timedelta(days=WEEK - 1), Grain.WEEK)


def weekend_of(day: date) -> Period:
    """The Saturday and Sunday of the week that the day lies in."""
    saturday = week_of(day).first + timedelta(days=_SATURDAY)
    return Period(saturday, saturday + timedelta(days=1), Grain.WEEKEND)


def month_of(day: date) -> Period:
    """The calendar month that the day lies in."""
    return Period(day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1]), Grain.MONTH)


def year_of(day: date) -> Period:
    """The calendar year that the day lies in."""
    return Period(date(day.year, 1, 1), date(day.year, YEAR, 31), Grain.YEAR)


def decade_of(year: int) -> Period:
    """The ten years from that one on."""
    return Period(date(year, 1, 1), date(year + DECADE - 1, YEAR, 31))


def latest_decade(number: int, day: date) -> Period:
    """The decade of that number in its century, such as 90, that has begun last on that day."""
    return decade_of(day.year - (day.year - number) % CENTURY)


def shifted(unit: str, count: int, day: date) -> Period:
    """The day, week, weekend, month or year that lies `count` units from that of the day.

    Raises ValueError or OverflowError when that is outside the calendar.
    """
    if unit == Grain.DAY:
        return day_of(day + timedelta(days=count))
    if unit == Grain.WEEK:
        return week_of(day + timedelta(weeks=count))
    if unit == Grain.WEEKEND:
        return weekend_of(day + timedelta(weeks=count))
    if unit == Grain.MONTH:
        years, month = divmod(day.year * YEAR + day.month - 1 + count, YEAR)
        return month_of(date(years, month + 1, 1))
    return year_of(date(day.year + count, 1, 1))


def before(period: Period) -> Period:
    """All days before it."""
    return Period(date.min, period.first - timedelta(days=1))


def after(period: Period) -> Period:
    """All days after it."""
    return Period(period.last + timedelta(days=1), date.max)


def beside(unit: str, side: str, anchor: Period) -> Period:
    """The day, week, weekend, month or year that ends before the anchor begins, or begins after it ends."""
    if unit == Grain.WEEKEND:
        saturday = weekday_beside(_SATURDAY, side, anchor).first
        is_whole = side == "after" or saturday < anchor.first - timedelta(days=1)
        return weekend_of(saturday if is_whole else saturday - timedelta(days=WEEK))
    if side == "before":
        return Period(_away(unit, -1, anchor.first), anchor.first - timedelta(days=1))
    start = anchor.last + timedelta(days=1)
    return Period(start, _away(unit, 1, start) - timedelta(days=1))


def weekday_beside(weekday: int, side: str, anchor: Period) -> Period:
    """The last such weekday before the anchor, or the first one after it; Monday is 0."""
    if side == "before":
        return day_of(anchor.first - timedelta(days=(anchor.first.weekday() - weekday) % WEEK or WEEK))
    return day_of(anchor.last + timedelta(days=(weekday - anchor.last.weekday()) % WEEK or WEEK))


def span(unit: str, count: int, day: date) -> Period:
    """The last `count` days, weeks, months or years, up to that day."""
    return Period(_away(unit, -count, day), day)


def _away(unit: str, count: int, day: date) -> date:
    """The same day `count` units away; the last of its month where that is shorter."""
    if unit in {Grain.DAY, Grain.WEEK}:
        return day + timedelta(days=count * (WEEK if unit == Grain.WEEK else 1))
    month = shifted(Grain.MONTH, count * (YEAR if unit == Grain.YEAR else 1), day)
    return min(month.last, month.first + timedelta(days=day.day - 1))
