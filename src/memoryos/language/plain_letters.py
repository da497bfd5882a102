"""A text in the letters and digits that rules are written in, character for character.

Every script has its own decimal digits (５, ٥, ५), and some letters outside ASCII count as an ASCII letter where case
does not (ſ, ı, İ and the sign of Kelvin). A rule that matches one must find its value, too.
"""

from __future__ import annotations

import re
import unicodedata

from memoryos.regex import regex

_LETTERS = {"ſ": "s", "ı": "i", "İ": "I", "\u212a": "K"}
_MARKS = {"．": ".", "／": "/", "－": "-"}  # full-width, as between the figures of ２０２４／０５／０３
_OTHERS = _LETTERS | _MARKS
_FOREIGN = regex(rf"[^\D0-9]|[{''.join(_OTHERS)}]")


def plain_text(text: str) -> str:
    """The text with ASCII digits and letters in place of those; each character keeps its place."""
    return text if text.isascii() else _FOREIGN.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    found = match.group()
    return _OTHERS.get(found) or str(unicodedata.decimal(found))
