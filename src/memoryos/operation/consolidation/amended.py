"""Amendments: what somebody says in place of a word that they just said: "green, no wait, blue"; "lol no, it's Dan".

The amended sentence is not what was said, so it is quoted by the words that amend it. Where it is not clear which words
were meant, nothing is read of the sentence.
"""

from __future__ import annotations

import re

from memoryos.regex import regex

_NO = (
    r"(?>(?:no,? wait|wait,? no|scratch that|make that|or rather|i mean|actually,? no|correction)[\s,:]{1,4}"
    r"|(?:no|nope|wait|oops|sorry),\s{0,4})"
)
_LAUGHS = r"(?:(?:lol|haha\w*|oops|sorry|ugh|uh|um|hmm)[\s,.!]{1,4}){0,3}"
_NEW = r"(?P<new>(?!(?:I|not|my|no)\b)[\w'-]+(?:(?-i: [A-Z][\w'-]+))?)[.!]*"
_INSIDE = regex(
    rf"(?<![\w'-])(?P<old>[\w'-]++) *(?:[,–—]|\.{{2,3}}| -+) *(?:{_LAUGHS}{_NO}){{1,4}}(?:it's |its )?{_NEW}$",
    re.IGNORECASE,
)
_BEHIND = regex(
    rf"(?:{_LAUGHS}(?:{_NO}){{1,4}}{_LAUGHS}(?:it's|its|it is|that's|make that) (?:actually |really )?"
    rf"|{_LAUGHS}(?:no,? wait|wait,? no|scratch that|make that|correction)[\s,:.]+){_NEW}",
    re.IGNORECASE,
)
_NUMBERS = frozenset("one two three four five six seven eight nine ten eleven twelve".split())


def amended(sentence: str, following: str = "") -> str:
    """The sentence as it or the one behind it amends it; empty when that is done, and it is not clear how."""
    other = amended_by(following)
    said = f"{sentence.rstrip(' .!')}, no, {other}" if other else sentence
    found = _INSIDE.search(said)
    if found is None:
        return said
    return said[: found.start()] + found["new"] if _is_alike(found["old"], found["new"]) else ""


def amended_by(following: str) -> str | None:
    """The word that a sentence puts in place of one in the sentence before it; None when it does not."""
    found = _BEHIND.fullmatch(following.strip()) if following else None
    return found["new"] if found else None


def _is_alike(old: str, new: str) -> bool:
    """Whether both are names, numbers or common words."""
    return _kind(old) == _kind(new)


def _kind(word: str) -> tuple[bool, bool]:
    return word[0].isupper(), word[0].isdigit() or word.lower() in _NUMBERS
