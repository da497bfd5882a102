"""Bounds: the words beside an expression of time that make it the beginning or the end of the time meant.

"Before May 2023", "prior to 2021", 2023年以来.
"""

from __future__ import annotations

import re
from enum import StrEnum

from memoryos.regex import regex

NEAR = 16  # characters beside an expression that can say so


class Bound(StrEnum):
    """The side of an expression of time that is meant."""

    BEFORE = "before"
    AFTER = "after"
    UNTIL = "until"
    SINCE = "since"
    BY = "by"  #: until then in a question; in a statement, what was true by then goes on


_AHEAD = {
    Bound.BEFORE: regex(r"\b(?:before|prior to)\s+(?:the )?$", re.IGNORECASE),
    Bound.AFTER: regex(r"\bafter\s+(?:the )?$", re.IGNORECASE),
    Bound.UNTIL: regex(r"\b(?:until|till)\s+(?:the )?$", re.IGNORECASE),
    Bound.BY: regex(r"(?:\bby\s+(?:the )?(?:end of )?|截[至止]到?)$", re.IGNORECASE),
    Bound.SINCE: regex(r"(?:\bsince\s+(?:the )?|自从?)$", re.IGNORECASE),
}
_BEHIND = {
    Bound.BEFORE: regex(r"(?:之前|以前|前(?![后天面]))"),
    Bound.AFTER: regex(r"(?:之后|以后|后(?![天面来]))"),
    Bound.UNTIL: regex(r"为止"),
    Bound.SINCE: regex(r"(?:以来|至今|起|开始)"),
}


def bound_of(text: str, start: int, end: int) -> Bound | None:
    """What the words around the expression from `start` to `end` make of it; None where it is the time itself."""
    head, tail = text[max(0, start - NEAR) : start], text[end : end + NEAR]
    behind = (one for one, words in _BEHIND.items() if words.match(tail))
    return next((one for one, words in _AHEAD.items() if words.search(head)), None) or next(behind, None)
