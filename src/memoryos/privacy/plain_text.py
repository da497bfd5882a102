"""Plain text: a text as the detector reads it, in which no form of a digit, letter or sign hides anything."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from memoryos.regex import regex

# Format characters (zero-width ones, marks of direction, tags), soft hyphens, fillers and variation selectors.
_INVISIBLE = regex(
    "[\u00ad\u034f\u0600-\u0605\u061c\u06dd\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_WIDE = range(0xFF01, 0xFF5F)
_SIGNS = dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2212, 0xFE63), "-") | {0xFE6B: "@", 0xFE52: ".", 0x2024: "."}
_DASH = regex(r"(?<=\d)[\u2013\u2014](?=\d)", re.ASCII)  # between words it ends a sentence


class _Forms(dict[int, int | str]):
    """By the code of each character the one that it counts as, filled as characters come."""

    def __missing__(self, code: int) -> int | str:
        self[code] = counts_as = _counts_as(chr(code))
        return counts_as


def _counts_as(char: str) -> int | str:
    if ord(char) in _WIDE:
        return ord(char) - 0xFEE0
    category = unicodedata.category(char)
    if category == "Nd":
        return str(unicodedata.decimal(char))
    return " " if category == "Zs" else char


_FORMS = _Forms(_SIGNS)


def as_plain(text: str) -> tuple[str, Sequence[int] | None]:
    """Return the text in plain characters, and the place of each in the text; None if all are in their own."""
    plain = _DASH.sub("-", text.translate(_FORMS))
    if _INVISIBLE.search(plain) is None:
        return plain, None
    places = [place for place, char in enumerate(plain) if not _INVISIBLE.match(char)]
    return "".join(plain[place] for place in places), places
