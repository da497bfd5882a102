"""Document parts: a text of any length, cut into parts of bounded length as it arrives.

Where the text is cut depends on the text alone, not on the pieces in which it arrives. So the same document gives the
same parts again, and a repeated call recognises those that are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from unicodedata import category

from memoryos.language.graphemes import whole_end
from memoryos.language.sentences import sentence_bounds
from memoryos.regex import regex

PART_CHARS = 100_000  # of a part at most: about 200 passages, which one transaction stores

_UNSEEN = frozenset({"Cf", "Mn", "Me"})  # categories of Unicode
_TO_WHITE_SPACE = regex(r".*\s", re.DOTALL)


def parts_of(pieces: Iterable[str], most: int = PART_CHARS) -> Iterator[str]:
    """Yield the text in parts of at most `most` characters; parts of white space alone are left out."""
    return (part for part in _cut(pieces, most) if not part.isspace())


def is_visible(part: str) -> bool:
    """Whether a text has more than white space, format characters and marks that stand on no character."""
    return any(not sign.isspace() and category(sign) not in _UNSEEN for sign in part)


def _cut(pieces: Iterable[str], most: int) -> Iterator[str]:
    held: list[str] = []
    size = 0
    for piece in _small(pieces, most):
        held.append(piece)
        size += len(piece)
        if size > most:
            text = "".join(held)
            while len(text) > most:
                end = whole_end(text, _end(text[:most]))
                yield text[:end]
                text = text[end:]
            held, size = [text], len(text)
    if size:
        yield "".join(held)


def _small(pieces: Iterable[str], most: int) -> Iterator[str]:
    """The pieces, each of at most so many characters."""
    for piece in pieces:
        yield from (piece[start : start + most] for start in range(0, len(piece), most))


def _end(text: str) -> int:
    """Where a part ends: in its last quarter, behind a paragraph, a line, a sentence or a word, if there is one."""
    least = len(text) * 3 // 4
    for mark in ("\n\n", "\n"):
        if (found := text.rfind(mark, least)) >= 0:
            return found + len(mark)
    if ends := [end for _, end in sentence_bounds(text[least:])][:-1]:
        return least + ends[-1]
    word = _TO_WHITE_SPACE.match(text, least)
    return word.end() if word else len(text)
