"""Refusal: what is wrong with a value that pydantic refused, in our words.

The value itself stays out of it, because it may be a secret; only a wrong name for one of a few choices is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from memoryos.text import nearest, shown

_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
_POSITIONAL = "unexpected_positional_argument"

# By the first part of the type of a pydantic error.
_EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "datetime": "a datetime with a time zone",
    "date": "a day",
    "tuple": "a tuple",
    "list": "a list",
    "dict": "a dict",
    "path": "a path",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of a value: an unknown field first, because it explains a missing one."""

    place: str  #: the field; empty for the value as a whole
    problem: str
    fix: str | None = None

    @classmethod
    def of(cls, error: ValidationError, fields: Iterable[str] = ()) -> Refusal:
        """Describe it; `fields` are the names that the value may have."""
        found = error.errors(include_url=False)
        first = min(found, key=lambda one: (one["type"] != _POSITIONAL, one["type"] not in _UNKNOWN))
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == _POSITIONAL:
            return cls("", "takes no arguments without a name", f"Name them: {', '.join(fields)}")
        return cls(place, *_told(first, place, tuple(fields)))


def _told(error: Mapping[str, Any], place: str, fields: tuple[str, ...]) -> tuple[str, str | None]:
    kind, value = error["type"], type(error["input"]).__name__
    if kind in _UNKNOWN:
        near = nearest(place, fields)
        return "is unknown", f"Did you mean {' or '.join(near)}?" if near else None
    if kind == "missing":
        return "is missing", None
    if kind == "timezone_aware":
        return "has no time zone", "Pass e.g. datetime(2026, 5, 8, tzinfo=UTC)"
    if kind == "enum":
        return f"expected {error['ctx']['expected']}, got {shown(error['input'])}", None
    expected = _EXPECTED.get(kind.split("_")[0])
    if expected and kind.endswith(("_type", "_parsing", "_from_float")):
        is_misread = kind.endswith("_parsing") and value == "str"  # such as a number in the environment
        return f"expected {expected}, got {'other text' if is_misread else value}", None
    return error["msg"].removeprefix("Input ").removeprefix("Value error, "), None
