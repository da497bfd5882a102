"""Step field: the type of a field of a step or of a parameter, and the placeholders in it.

A placeholder is a name in braces: `{query}`. `{{` and `}}` stand for braces. A value that is put in is never read for
placeholders itself, so stored text stays text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any

from memoryos.choice import Choice
from memoryos.clock import parse_time
from memoryos.errors import InvalidInput
from memoryos.regex import regex
from memoryos.text import shown

TEXT_CHARS = 100_000  # of one field or argument; a longer text is a document
MOST_NAMES = 100

_LONE = regex(r"[\ud800-\udfff]")
_PARTS = regex(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}|[{}]")


class FieldType(Choice):
    """The type of a field, and of the parameter that may fill it."""

    TEXT = "text"  # words of any kind
    COUNT = "count"  # a whole number from 0 on
    SHARE = "share"  # a number from 0 to 1
    MOMENT = "moment"  # a time or a day
    NAMES = "names"  # a list of texts

    def check(self, field: str, value: Any) -> Any:
        """Return the value of that type. Raises InvalidInput."""
        if self is FieldType.NAMES and isinstance(value, list | tuple):
            value = tuple(value)
        if not _CHECKS[self](value):
            raise InvalidInput(field, f"expected {_TOLD[self]}, got {shown(value)}", "Pass one")
        return value.isoformat() if self is FieldType.MOMENT and isinstance(value, date) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    """Whether it is a text that can be stored: SQLite ends at a NUL, and UTF-8 has no lone surrogates."""
    return isinstance(value, str) and len(value) <= TEXT_CHARS and "\x00" not in value and not _LONE.search(value)


def _is_moment(value: Any) -> bool:
    try:
        parse_time("", value)
    except InvalidInput:
        return False
    return True


_CHECKS: Mapping[FieldType, Callable[[Any], bool]] = {
    FieldType.TEXT: _is_text,
    FieldType.COUNT: lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    FieldType.SHARE: lambda value: _is_number(value) and 0 <= value <= 1,
    FieldType.MOMENT: _is_moment,
    FieldType.NAMES: lambda value: isinstance(value, tuple) and len(value) <= MOST_NAMES and all(map(_is_text, value)),
}

_TOLD = {
    FieldType.TEXT: f"a text of at most {TEXT_CHARS:,} characters, without NUL and lone surrogates",
    FieldType.COUNT: "a whole number from 0 on",
    FieldType.SHARE: "a number from 0 to 1",
    FieldType.MOMENT: "a time, such as 2026-05-01",
    FieldType.NAMES: f"a list of at most {MOST_NAMES} texts",
}


def placeholders(field: str, value: Any) -> tuple[str, ...]:
    """The names in braces of a value. Raises InvalidInput for a brace that is no part of one."""
    if not isinstance(value, str):
        return ()
    found = list(_PARTS.finditer(value))
    if any(one[0] in ("{", "}") for one in found):
        raise InvalidInput(field, "has a single brace", "Write {{ or }} for a brace, and e.g. {query} for a parameter")
    return tuple(one[1] for one in found if one[1])


def whole_placeholder(value: Any) -> str | None:
    """The name, if the value is nothing but one placeholder."""
    found = _PARTS.fullmatch(value) if isinstance(value, str) else None
    return found[1] if found else None


def put_in(value: Any, known: Mapping[str, Any]) -> Any:
    """The value with what is known in the place of its placeholders."""
    if not placeholders("", value):
        return value if type(value) is not str else value.replace("{{", "{").replace("}}", "}")
    if name := whole_placeholder(value):
        return known[name]
    return _PARTS.sub(lambda found: str(known[found[1]]) if found[1] else found[0][0], value)


def names_told(names: Sequence[str]) -> str:
    """Some names, for an error."""
    return ", ".join(names) if names else "none"
