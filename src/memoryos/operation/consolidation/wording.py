"""A text as bare words, by which two copies of it are found equal."""

from __future__ import annotations

import unicodedata

from memoryos.language.quotation import visible
from memoryos.regex import regex

WORD = regex(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")  # a Chinese character is one: words overlap there


def wording(text: str) -> str:
    """A text as bare words: two copies are equal whatever became of their case, marks and spaces."""
    return " ".join(WORD.findall(unicodedata.normalize("NFKC", visible(text)).casefold()))
