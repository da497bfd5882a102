"""Sentences of English and Chinese text, found by punctuation alone.

Every sentence is an exact substring of the text, so it can be quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memoryos.regex import regex

# A look-behind keeps a long run of marks linear; Chinese marks end a sentence without a space after them.
_BOUNDARY = regex(
    r"""(?<![.!?…])[.!?…]++["'”’)\]]*+(?=\s|$)   # English: only before white space, so 3.5 and a.b stay whole
      | [。！？]++[”’」』）)"]*+
      | (?<![!?])[!?]++(?=[\u3400-\u9fff])
      | [\r\n]++""",
    re.VERBOSE,
)
_MARK = regex(r"[.!?…。！？\r\n]")  # what every boundary begins with; far faster to look for
_WORD_BACKWARDS = regex(r"[^\s(\[\"'“‘]*")
_INITIALS = regex(r"(?:[A-Za-z]\.)*[A-Za-z]")
_WORD_WINDOW = 20  # characters looked at before a dot; longer than any abbreviation

# Something always follows these, so their dot never ends a sentence.
_NEVER_LAST = frozenset({"dr", "mr", "mrs", "ms", "prof", "rev", "gen", "sen", "rep", "e.g", "i.e", "vs", "cf"})
# These may be the last word: their dot ends the sentence when a capital follows.
_MAY_BE_LAST = frozenset({"etc", "inc", "ltd", "co", "jr", "sr", "approx", "dept", "est", "st", "no"})


def split_sentences(text: str) -> list[str]:
    """Return the sentences of `text` in order, without the white space around them."""
    if not _MARK.search(text, 0, len(text) - 1):  # one sentence, as a line mostly is
        return [only] if (only := text.strip()) else []
    sentences = (text[start:end].strip() for start, end in sentence_bounds(text))
    return [sentence for sentence in sentences if sentence]


def sentence_bounds(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of `text` begin and end, in order; each begins where the one before it ends."""
    start = 0
    for match in _boundaries(text):
        if _ends_sentence(text, match):
            yield start, match.end()
            start = match.end()
    yield start, len(text)


def _boundaries(text: str) -> Iterator[re.Match[str]]:
    end = 0
    for mark in _MARK.finditer(text):
        if mark.start() >= end and (match := _BOUNDARY.match(text, mark.start())):
            end = match.end()
            yield match


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    """Whether the boundary is one, and not the dot of an abbreviation."""
    if match.group() != ".":
        return True
    word = _word_before(text, match.start())
    lower = word.lower()
    if lower in _NEVER_LAST:
        return False
    if lower not in _MAY_BE_LAST and not _INITIALS.fullmatch(word):
        return True  # as nearly all
    following = text[match.end() : match.end() + _WORD_WINDOW].lstrip()
    if lower in _MAY_BE_LAST and lower not in {"st", "no"}:
        return not following[:1].islower()
    if word == "St":
        return not following[:1].isupper()  # "St. Louis"; a street's name ends with a lower-case or no follower
    if word == "No":
        return not following[:1].isdigit()
    return _ends_after_initials(word, following)


def _word_before(text: str, end: int) -> str:
    """The word that ends there, or its end."""
    backwards = _WORD_BACKWARDS.match(text[max(0, end - _WORD_WINDOW) : end][::-1])
    return backwards.group()[::-1] if backwards else ""


def _ends_after_initials(word: str, following: str) -> bool:
    """For "U.S.", "a.m." or "J." whether the sentence ends there; True for any other word."""
    if not _INITIALS.fullmatch(word) or word == "I":
        return True
    if len(word) == 1:
        return not following[:1].isupper()  # "J. Smith"
    return not following[:1].islower()
