"""The size of JSON: how many values a text has, told before it is parsed, because each value takes memory and time."""

from __future__ import annotations

import re
from itertools import islice

from memoryos.regex import regex

_MARKS = (b",", b"[", b"{", b"\n")
# A string, possessive and open at the end, so that it is never tried twice; or a mark outside of strings. What
# stands between two values alone is the end of a line of JSON Lines.
_PART = regex(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?|([,\[{]|(?<![\s,\[{:])\s++(?=[^\s,:\[{\]}]))', re.DOTALL)


def has_more_values(data: bytes, most: int) -> bool:
    """Whether there are more values than that. It reads no further than it needs to tell."""
    if len(data) < most or 1 + sum(map(data.count, _MARKS)) <= most:
        return False
    marks = (found for found in _PART.finditer(data) if found[1])
    return next(islice(marks, most - 1, None), None) is not None
