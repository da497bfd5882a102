"""Long patterns that most texts do not match, made cheap by looking for a few plain words first."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Marked:
    """A pattern, and words of which one is in every match."""

    pattern: re.Pattern[str]
    marks: tuple[str, ...]  #: in lower case

    def search(self, text: str, folded: str) -> re.Match[str] | None:
        """The first match in `text`; `folded` is the text in lower case."""
        return self.pattern.search(text) if self.may_match(folded) else None

    def findall(self, text: str, folded: str) -> list[str]:
        """All matches in `text`, of a pattern without groups."""
        return self.pattern.findall(text) if self.may_match(folded) else []

    def ends(self, text: str, folded: str) -> list[int]:
        """Where the matches in `text` end, in order."""
        return [match.end() for match in self.pattern.finditer(text)] if self.may_match(folded) else []

    def may_match(self, folded: str) -> bool:
        """Whether a mark is in the text: without one there is no match."""
        for mark in self.marks:  # noqa: SIM110 - a loop takes half the time of any(), and runs for every sentence
            if mark in folded:
                return True
        return False


def marks(words: str) -> tuple[str, ...]:
    """Split a list of marks; an underscore stands for a space in or around a mark."""
    return tuple(word.replace("_", " ") for word in words.split())
