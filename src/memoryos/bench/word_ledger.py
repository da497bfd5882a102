"""Word ledger: what writers of many processes reported, and which answers of one store contradict it.

Every page has a word of its own, which names its scope, its writer and its number; a correction gives it another. So
whatever a memory serves, be it a page, a fact or a summary, tells by its words where it comes from. Writers tell what
happens to a word in the order in which it does: `THERE` once the call has returned, `LEAVING` before the call that
takes it away, `GONE` once that has returned.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from memoryos.regex import regex

_WORD = regex(r"zq(\d+)x(\d+)x(\d+)x(\d+)z", re.IGNORECASE)


class PageWord(NamedTuple):
    """The word that identifies a page."""

    scope: int
    writer: int
    number: int  #: of the page, among those of its writer
    version: int  #: how often it was corrected

    def __str__(self) -> str:
        return "zq{}x{}x{}x{}z".format(*self)


class WordState(StrEnum):
    """A state of a word, as its writer reports it."""

    THERE = "there"
    LEAVING = "leaving"
    GONE = "gone"


class AnswerFault(StrEnum):
    """The faults of answers."""

    MISSING = "missing"  # a page that was stored is not found
    GHOST = "ghost"  # words that were taken away are served
    FOREIGN = "foreign"  # words of another scope are served
    TWICE = "twice"  # a page is there more than once
    ORDER = "order"  # pages of a writer stand in another order than they were added
    UNKNOWN = "unknown"  # a page is there that no writer stored


@dataclass(frozen=True, slots=True)
class Violation:
    """A fault of an answer, with the word and the place."""

    fault: AnswerFault
    word: PageWord
    where: str  #: the operation, or the part of its answer

    def __str__(self) -> str:
        return f"{self.fault}: {self.word} in {self.where}"


def words_in(text: str) -> set[PageWord]:
    """The page words in a text."""
    return {PageWord(*map(int, found)) for found in _WORD.findall(text)}


def told(state: WordState, word: PageWord) -> str:
    """The line by which a writer reports a word."""
    return f"{state} {word}\n"


class WordLedger:
    """The state of every word, by the reports of all writers."""

    def __init__(self) -> None:
        self._there: dict[PageWord, None] = {}  # in the order they were told
        self._leaving: set[PageWord] = set()
        self._gone: dict[PageWord, int] = {}  # and when it was told
        self._heard = 0

    @property
    def moment(self) -> int:
        """The number of reports read so far. Take it before a call and judge the answer by it."""
        return self._heard

    def hear(self, lines: Iterable[str]) -> None:
        """Read reports of writers."""
        for line in lines:
            state, _, name = line.strip().partition(" ")
            (word,) = words_in(name)
            self._heard += 1
            if state == WordState.THERE:
                self._there[word] = None
            else:
                self._leaving.add(word)
            if state == WordState.GONE:
                self._there.pop(word, None)
                self._gone[word] = self._heard

    def latest(self, count: int) -> list[PageWord]:
        """The latest words that no writer has reported as leaving."""
        newest = (word for word in reversed(self._there) if word not in self._leaving)
        return [word for word, _ in zip(newest, range(count), strict=False)]

    def departed(self, count: int) -> list[PageWord]:
        """The words that were deleted last."""
        return [word for word, _ in zip(reversed(self._gone), range(count), strict=False)]

    def there(self, scope: int) -> list[PageWord]:
        """The words of a scope that no writer has reported as leaving."""
        return [word for word in self._there if word.scope == scope and word not in self._leaving]

    def absent(self, wanted: Iterable[PageWord], served: Collection[PageWord], where: str) -> Iterator[Violation]:
        """Words that were stored before the call and are missing in its answer, though no writer is deleting them."""
        for word in wanted:
            if word not in served and word not in self._leaving:
                yield Violation(AnswerFault.MISSING, word, where)

    def misplaced(self, served: Iterable[PageWord], scope: int, before: int, where: str) -> Iterator[Violation]:
        """Words of other scopes, or deleted before the call."""
        for word in served:
            if word.scope != scope:
                yield Violation(AnswerFault.FOREIGN, word, where)
            elif self._gone.get(word, before + 1) <= before:
                yield Violation(AnswerFault.GHOST, word, where)

    def invented(self, served: Iterable[PageWord], where: str) -> Iterator[Violation]:
        """Words no writer reported; call after all writers have finished."""
        for word in served:
            if word not in self._there and word not in self._leaving:
                yield Violation(AnswerFault.UNKNOWN, word, where)


def disordered(served: Sequence[PageWord], where: str) -> Iterator[Violation]:
    """Pages of a scope that occur twice, or before an earlier page of the same writer."""
    seen: set[tuple[int, int]] = set()
    last: dict[int, int] = {}
    for word in served:
        if (word.writer, word.number) in seen:
            yield Violation(AnswerFault.TWICE, word, where)
        elif word.number < last.get(word.writer, 0):
            yield Violation(AnswerFault.ORDER, word, where)
        seen.add((word.writer, word.number))
        last[word.writer] = max(last.get(word.writer, 0), word.number)
