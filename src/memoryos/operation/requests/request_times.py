"""Request times: the time range that a request names, and its words without it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from memoryos.language.times import asked_times, without_times
from memoryos.regex import regex

_LEFT = regex(r"(?:\s+(?:in|on|at|from|since|until|during|of|between))+\s*\Z|^\s*(?:in|on|at|from)\s+\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A time range, and the text that named it without its words."""

    since: datetime | None
    until: datetime | None
    rest: str


def time_range(text: str, now: datetime) -> TimeRange:
    """The time range that a text names, from the first to the last day of all that it names."""
    mentions = asked_times(text, now)
    if not mentions:
        return TimeRange(None, None, text)
    first = min(mention.period.first for mention in mentions)
    last = max(mention.period.last for mention in mentions)
    rest = " ".join(_LEFT.sub("", without_times(text, mentions)).split())
    return TimeRange(_start(first, now), _end(last, now), rest)


def _start(day: date, now: datetime) -> datetime | None:
    """The begin of a day; None for the first day of the calendar, before which there is nothing."""
    return datetime.combine(day, time(), now.tzinfo) if day > date.min else None


def _end(day: date, now: datetime) -> datetime | None:
    if day >= date.max - timedelta(days=1):
        return None
    return datetime.combine(day + timedelta(days=1), time(), now.tzinfo) - timedelta(microseconds=1)
