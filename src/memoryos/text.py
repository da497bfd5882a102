"""Text: the one check for every string that a caller passes."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from memoryos.errors import InvalidInput
from memoryos.regex import regex

_SHOWN_CHARS = 40
_SHOWN_BITS = 128  # of a number; one of thousands of digits cannot even be turned into text

# What a terminal obeys or a reader does not see: C0 but tab and newline, DEL, C1, separators and bidi controls.
_CONTROLS = regex("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def checked_text(field: str, value: object, *, limit: int, fix: str = "Pass a shorter one") -> str:
    """Return `value` if it is storable text of 1 to `limit` characters; `fix` is the advice for a longer one.

    Raises InvalidInput for anything else: not a string, blank, too long, with NUL or with lone surrogates (SQLite would
    cut the text at a NUL, and a lone surrogate has no UTF-8 form).
    """
    if not isinstance(value, str):
        raise InvalidInput(field, f"expected text, got {type(value).__name__}", "Pass a str")
    if not value.strip():
        raise InvalidInput(field, "is empty", "Pass at least one visible character")
    if len(value) > limit:
        raise InvalidInput(field, f"has {len(value):,} characters, the limit is {limit:,}", fix)
    if "\x00" in value:
        raise InvalidInput(field, "contains a NUL byte", "Remove \\x00 before storing")
    if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise InvalidInput(field, "contains a lone surrogate", "Pass text that can be written as UTF-8")
    return value


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to two of the known names that are spelled like this one, the most similar first."""
    return get_close_matches(name, known, n=2)


def visible(text: str) -> str:
    """Escape control characters in hexadecimal, like Python's repr."""
    return _CONTROLS.sub(lambda found: _written(ord(found.group()), short=True), text)


def visible_json(document: str) -> str:
    """Escape all control characters in the strings of a JSON text, even those that JSON allows."""
    return _CONTROLS.sub(lambda found: _written(ord(found.group()), short=False), document)


def _written(code: int, *, short: bool) -> str:
    return f"\\x{code:02x}" if short and code <= 0xFF else f"\\u{code:04x}"


def shown(value: object) -> str:
    """Format a wrong value for an error: short text and small numbers as they are, otherwise the type."""
    if isinstance(value, str):
        return repr(value[:_SHOWN_CHARS])
    is_small = isinstance(value, int) and value.bit_length() <= _SHOWN_BITS
    return repr(value) if is_small or isinstance(value, float) else type(value).__name__
