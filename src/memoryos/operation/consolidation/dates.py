"""Relative dates ("yesterday", "上周五") in a memory, each with the calendar date it meant when it was said.

Without it a fact drawn from a page would lose its time. What has no single reading stays (`language/times.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from memoryos.language.calendar import MONTHS, spoken
from memoryos.language.period import Grain
from memoryos.language.times import TimeMention, chinese_times, english_times
from memoryos.language.words import HAN
from memoryos.regex import regex

_OPENS = regex(r"\b(?:since|until) $", re.IGNORECASE)  # "since last year" is a span, not a date


@dataclass(frozen=True, slots=True)
class DateMention:
    """A relative date in a text, and the calendar date it means."""

    start: int  #: of the expression in the text
    end: int
    label: str  #: "7 May 2023", "week of 1 May 2023", "April 2023", "2022"


_Labels = Mapping[Grain, Callable[[date], str]]  # how one language writes what begins on that day

_ENGLISH: _Labels = {
    Grain.DAY: spoken,
    Grain.WEEK: lambda day: f"week of {spoken(day)}",
    Grain.WEEKEND: lambda day: f"weekend of {spoken(day)}",
    Grain.MONTH: lambda day: f"{MONTHS[day.month - 1]} {day.year}",
    Grain.YEAR: lambda day: str(day.year),
}
_CHINESE: _Labels = {
    Grain.DAY: lambda day: f"{day.year}年{day.month}月{day.day}日",
    Grain.WEEK: lambda day: f"{day.year}年{day.month}月{day.day}日当周",
    Grain.WEEKEND: lambda day: f"{day.year}年{day.month}月{day.day}日周末",
    Grain.MONTH: lambda day: f"{day.year}年{day.month}月",
    Grain.YEAR: lambda day: f"{day.year}年",
}


def english_dates(text: str, said_at: datetime) -> list[DateMention]:
    """Find the relative English dates of `text` that can be resolved, in order."""
    return _labelled(text, english_times(text, said_at.date()), _ENGLISH)


def chinese_dates(text: str, said_at: datetime) -> list[DateMention]:
    """Find the relative Chinese dates of `text` that can be resolved, in order."""
    return _labelled(text, chinese_times(text, said_at.date()), _CHINESE)


def insert_dates(text: str, mentions: list[DateMention], brackets: tuple[str, str]) -> str:
    """Return the text with each calendar date in brackets behind its expression."""
    for mention in reversed(mentions):
        text = f"{text[: mention.end]}{brackets[0]}{mention.label}{brackets[1]}{text[mention.end :]}"
    return text


def labelled_day(day: date, text: str) -> str:
    """A day as the language of the text writes it."""
    return (_CHINESE if HAN.search(text) else _ENGLISH)[Grain.DAY](day)


def _labelled(text: str, mentions: Iterable[TimeMention], labels: _Labels) -> list[DateMention]:
    return [
        DateMention(mention.start, mention.end, labels[mention.period.grain](mention.period.first))
        for mention in mentions
        if mention.is_relative
        and mention.period.grain in labels
        and not _OPENS.search(text[max(0, mention.start - 8) : mention.start])
    ]
