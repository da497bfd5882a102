"""Looks: which ASCII characters a character looks like, by the confusables of UTS #39 (Unicode 15.1).

`looks.json` holds the characters that read as each ASCII letter, and as brackets, slashes and colons; it is made by
`tools/build_looks.py`. NFKD reads the rest, such as full width and mathematical letters.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from pathlib import Path

_ALSO = {"0": "o", "1": "li", "3": "e", "4": "a", "@": "a", "I": "l", "l": "i", "|": "li"}
_PAIRS = {"m": ("m", "rn"), "d": ("d", "cl")}  # letters that two others look like
_ENCLOSING = "()〔〕"  # what NFKD puts around the letter of an enclosed one
_STRANGERS = 2  # characters of a word, not of ASCII, that may stand for any letter

_State = tuple[int, int]  # how much of a word was read, and how many strangers may come


def signs(*kinds: str) -> str:
    """The characters beyond ASCII that look like signs of these kinds."""
    return "".join(_table()["signs"][kind] for kind in kinds)


@lru_cache(maxsize=4096)
def readings(sign: str) -> frozenset[str]:
    """The lower-case letters that a character may look like; empty for an invisible one."""
    if sign.isascii():
        return frozenset((sign.lower(), *_ALSO.get(sign, "")))
    parts = [one for one in unicodedata.normalize("NFKD", sign) if not (is_unseen(one) or is_blank(one))]
    known = product(*((*_listed().get(part, ()), part.casefold(), *_ALSO.get(part, "")) for part in parts))
    told = {"".join(one) for one in known}
    bare = {one.strip(_ENCLOSING) for one in told}  # of a letter in brackets that is one character, such as ⒨
    return frozenset((told | bare) - {""}).union(_listed().get(sign, ()))


def is_blank(sign: str) -> bool:
    """Whether a character looks like a blank."""
    return sign.isspace() or unicodedata.category(sign)[0] == "Z" or sign in _blanks()


def is_unseen(sign: str) -> bool:
    """Whether a character is not visible by itself: a combining mark, a control or an unassigned one."""
    return unicodedata.category(sign)[0] in "CM"


def reads(text: str, start: int, word: str, *, is_loose: bool = False) -> int | None:
    """Where the text, from there on, has read as the word; None when it does not.

    Loosely, blanks and slashes between the letters stand for nothing, a few characters beyond ASCII stand for any
    letter, and the text may end within the word: another text that follows it may end the word.
    """
    ends = (_end(text, start, one, is_loose) for one in _spellings(word))
    return max((end for end in ends if end is not None), default=None)


def begins(text: str, start: int) -> str:
    """The first character from there on that is visible and no blank or slash; empty without one."""
    for place in range(start, len(text)):
        sign = text[place]
        if not (is_blank(sign) or is_unseen(sign) or sign in _slashes()):  # ノ is a letter, too
            return sign
    return ""


@lru_cache(maxsize=4096)
def may_begin(sign: str, word: str) -> bool:
    """Whether a word may begin with a character that reads like this one."""
    return bool(sign) and any(_followed(frozenset(((0, 0),)), one, sign, False) for one in _spellings(word))


def _end(text: str, start: int, word: str, is_loose: bool) -> int | None:
    states = frozenset(((0, _STRANGERS if is_loose else 0),))
    for place in range(start, len(text)):
        states = _followed(states, word, text[place], is_loose)
        if not states:
            return None
        if (len(word), 0) in states:
            return place + 1
    return len(text) if is_loose else None


@lru_cache(maxsize=4096)
def _followed(states: frozenset[_State], word: str, sign: str, is_loose: bool) -> frozenset[_State]:
    """What may have been read after one more character; all of the word has no strangers left."""
    found = set(_read(states, word, sign))
    if is_loose and not sign.isascii() and unicodedata.category(sign)[0] in "LNS":
        found.update((read + 1, strangers - 1) for read, strangers in states if read and strangers)
    if any(read == len(word) for read, _ in found):
        return frozenset(((len(word), 0),))
    is_nothing = is_unseen(sign) or (is_loose and (is_blank(sign) or sign in _slashes()))
    return frozenset(found | states if is_nothing else found)


def _read(states: frozenset[_State], word: str, sign: str) -> Iterator[_State]:
    for read, strangers in states:
        for reading in readings(sign):
            if reading and word.startswith(reading, read):
                yield read + len(reading), strangers


@cache
def _spellings(word: str) -> tuple[str, ...]:
    return tuple("".join(one) for one in product(*(_PAIRS.get(letter, (letter,)) for letter in word)))


@cache
def _table() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("looks.json").read_bytes())
    return found


@cache
def _listed() -> dict[str, frozenset[str]]:
    """What each character of the table reads as."""
    found: dict[str, set[str]] = {}
    for reading, characters in _table()["letters"].items():
        for character in characters:
            found.setdefault(character, set()).add(reading)
    return {character: frozenset(read) for character, read in found.items()}


@cache
def _blanks() -> frozenset[str]:
    return frozenset(signs("blank"))


@cache
def _slashes() -> frozenset[str]:
    return frozenset(signs("slash", "pipe") + "/\\|!")
