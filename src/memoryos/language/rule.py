"""Rules: how one language writes an expression of time, and the period that it means."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache

from memoryos.language.marked import marks
from memoryos.language.period import Period, shifted

Resolve = Callable[[re.Match[str], date], Period | None]  # from what was found and the day it was said


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and what it means; None for a reading that is not the only one."""

    expression: str  #: as it is written; whoever reads no such text need not wait until it is compiled
    resolve: Resolve
    is_relative: bool = True  #: whether the meaning depends on the day
    marks: tuple[str, ...] = ()  #: in lower case: one is in every match in an ASCII text; none, when that is not known

    @property
    def pattern(self) -> re.Pattern[str]:
        """The pattern that finds it, ignoring case."""
        return _compiled(self.expression)

    def may_match(self, folded: str) -> bool:
        """Whether the pattern need be tried on an ASCII text in lower case; to look for marks is far cheaper."""
        for mark in self.marks:
            if mark in folded:
                return True
        return not self.marks

    def period(self, match: re.Match[str], said_on: date) -> Period | None:
        """What the match means when it is said on that day; None when that is unclear or outside the calendar."""
        try:
            return self.resolve(match, said_on)
        except (OverflowError, ValueError):
            return None


def relative(pattern: str, resolve: Resolve, within: str = "") -> Rule:
    """A rule for relative times such as "yesterday"; every match contains one of the words in `within`."""
    return Rule(pattern, resolve, marks=marks(within))


def absolute(pattern: str, resolve: Resolve, within: str = "") -> Rule:
    """A rule for absolute times such as "May 2023"; every match contains one of the words in `within`."""
    return Rule(pattern, resolve, is_relative=False, marks=marks(within))


def fixed(unit: str, count: int) -> Resolve:
    """The reading of a word that always means the same distance from today, such as "yesterday"."""
    return lambda _match, today: shifted(unit, count, today)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)
