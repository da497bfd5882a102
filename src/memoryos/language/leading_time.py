"""Expressions of time with which an English statement begins: "Last month I ...", "Two weeks ago, I ...".

Also those count that name no period, such as "this spring" and "a few days ago". What is still to come, or comes again
and again ("next month", "on Mondays"), is none.
"""

from __future__ import annotations

import re

from memoryos.language.calendar import MONTH, WEEKDAYS
from memoryos.regex import regex

_SEASON = "spring|summer|autumn|fall|winter"
_UNIT = f"day|night|morning|afternoon|evening|week|weekend|month|year|{_SEASON}"
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|some|a few"
    r"|a couple(?: of)?)"
)
_YEAR = r"(?:1[5-9]|20|21)\d\d"
_OF_YEAR = rf"(?:,? (?:of )?(?:{_YEAR}|(?:last|this) year))?"
_PART = r"(?:(?:early|late|mid|the (?:beginning|middle|end|start) of)[ -])?"
_WEEKDAY = "|".join(WEEKDAYS)
_DAY = rf"(?:(?:{MONTH})\b\.? \d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTH})\b\.?)"
_TIME = "|".join(
    (
        r"(?:the day before )?yesterday(?: (?:morning|afternoon|evening))?|today",
        rf"(?:earlier |late |early )?(?:last|this(?: past)?) (?:{_UNIT}|{MONTH}|{_WEEKDAY})\b(?! (?:of|and)\b)",
        rf"the (?:{_UNIT}) before last",
        rf"(?:about |around |almost |just |over )?{_COUNT} (?:day|week|weekend|month|year)s? ago",
        rf"(?:back |sometime )?in {_PART}(?:(?:the )?(?:{_SEASON}|{MONTH})\b{_OF_YEAR}|{_YEAR})",
        rf"on (?:the )?(?:(?:{_WEEKDAY})\b|{_DAY}{_OF_YEAR})",
        rf"(?:over|during) (?:the|this|last) (?:{_SEASON}|weekend|holidays)",
        r"recently|lately|not long ago|the other day",
    )
)
_LEADING = regex(rf"^(?:(?:so|and|but|well|yes|oh),? )?(?:{_TIME})(?: \([^()]*\))?,?(?:\s+|$)", re.IGNORECASE)


def without_leading_time(statement: str) -> str:
    """The statement behind the expression of time that it begins with, and the dates in brackets behind that one."""
    return _LEADING.sub("", statement, count=1)
