"""PolicyText: the policies of a text, each with its place, so that an error can name file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memoryos.regex import regex

# What may contain a semicolon that ends nothing, and the semicolon.
_TOKEN = regex(r'//[^\n]*|"(?:\\.|[^"\\])*"|;', re.DOTALL)
_SPACE = regex(r"(?:\s+|//[^\n]*)*")
_NAME = regex(r'@id\(\s*"((?:\\.|[^"\\])*)"\s*\)')


@dataclass(frozen=True, slots=True)
class PolicyText:
    """One policy of a file."""

    file: str  #: name of the file
    line: int  #: where it begins
    text: str

    @property
    def name(self) -> str:
        """Its `@id`, or its place."""
        found = _NAME.search(self.text)
        return found[1] if found else self.place

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


def statements_of(file: str, text: str) -> Iterator[PolicyText]:
    """The policies of a file, in order. The last one may lack its semicolon, which the parser reports."""
    start = 0
    for found in _TOKEN.finditer(text):
        if found[0] == ";":
            yield _statement(file, text, start, found.end())
            start = found.end()
    if len(text) > _begin(text, start):
        yield _statement(file, text, start, len(text))


def _statement(file: str, text: str, start: int, end: int) -> PolicyText:
    begin = _begin(text, start)
    return PolicyText(file, text.count("\n", 0, begin) + 1, text[begin:end])


def _begin(text: str, start: int) -> int:
    """The first character that is neither space nor comment."""
    found = _SPACE.match(text, start)
    return found.end() if found else start
