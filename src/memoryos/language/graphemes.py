"""Graphemes: where a text may be cut without tearing apart what a reader sees as one character.

It knows the rules of UAX #29 that matter at a cut: line ends of two characters, combining marks, joiners, skin tones,
pairs of regional indicators (flags) and Hangul syllables that are written in parts.
"""

from __future__ import annotations

import unicodedata

MOST_CHARS = 64  # that are looked at: a longer run of marks is no character that anybody writes

_JOINER = "\u200d"
_TONES = range(0x1F3FB, 0x1F400)
_TAGS = range(0xE0020, 0xE0080)  # of the flags of regions
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_HANGUL_PARTS = range(0x1160, 0x1200)  # vowels and final consonants, which follow the first one
_HANGUL = (range(0x1100, 0x1200), range(0xAC00, 0xD7A4))


def whole_end(text: str, end: int) -> int:
    """The last place at or before `end` that is within no such character; `end` itself where there is none near."""
    least = max(0, end - MOST_CHARS)  # a place at 0 would cut nothing off
    return next((place for place in range(end, least, -1) if not _is_within(text, place)), end)


def _is_within(text: str, place: int) -> bool:
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if before < "\u0300" and after < "\u0300":
        return before == "\r" and after == "\n"
    code = ord(after)
    is_mark = unicodedata.category(after) in ("Mn", "Mc", "Me") or code in _TONES or code in _TAGS
    is_joined = after in (_JOINER, "\u200c") or before == _JOINER
    is_syllable = code in _HANGUL_PARTS and any(ord(before) in part for part in _HANGUL)
    return is_mark or is_joined or is_syllable or _is_in_flag(text, place)


def _is_in_flag(text: str, place: int) -> bool:
    """Whether an odd number of flag letters stands before the place, and another one behind it."""
    start = place
    while start and place - start < MOST_CHARS and ord(text[start - 1]) in _FLAG_LETTERS:
        start -= 1
    return ord(text[place]) in _FLAG_LETTERS and (place - start) % 2 == 1
