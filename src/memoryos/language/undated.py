"""Undated times: weekdays, and months and days without a year, English and Chinese: "on Tuesday", 星期二, "in May".

A text does not tell which of them is meant. Whoever asks what was said then means the latest one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import MINYEAR, date

from memoryos.language.calendar import WEEKDAYS
from memoryos.language.period import Period, day_of, weekday_beside
from memoryos.language.yearly import Yearly, yearly_mentions
from memoryos.regex import regex

_OTHER = r"(?<!\bnext )(?<!\bevery )(?<!\beach )(?<!\bthis )(?<!\bcoming )(?<!\blast )"
_ENGLISH = regex(
    rf"\b{_OTHER}(?P<weekday>{'|'.join(WEEKDAYS)})\b(?!['’]s)",
    re.IGNORECASE,
)
_CHINESE = regex(r"(?<![上下这本每个隔])(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])(?!年|个)")
_HAN_WEEKDAYS = "一二三四五六日"


@dataclass(frozen=True, slots=True)
class Undated:
    """An expression of time in a text that comes again: every week or every year."""

    start: int  #: of the expression in the text, without its preposition
    end: int
    days: Yearly | int  #: days of every year, or a weekday: Monday is 0

    def latest(self, today: date, *, is_over: bool) -> Period | None:
        """The latest of these days: of a year as `Yearly.latest`, a weekday before today; None: there is none."""
        if isinstance(self.days, Yearly):
            return self.days.latest(today, is_over=is_over)
        return weekday_beside(self.days, "before", day_of(today)) if today.year > MINYEAR else None


def undated_times(text: str) -> Iterator[Undated]:
    """What the text names so."""
    for found in _ENGLISH.finditer(text):
        yield Undated(found.start(), found.end(), WEEKDAYS.index(found["weekday"].capitalize()))
    for found in _CHINESE.finditer(text):
        yield Undated(found.start(), found.end(), _HAN_WEEKDAYS.index(found["weekday"].replace("天", "日")))
    for one in yearly_mentions(text):
        yield Undated(one.name, one.end, one.days)
