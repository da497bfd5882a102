"""Retired: fields of cubes that never had an effect, and are not part of them any more.

Older programs wrote them into every cube; they read cubes without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from memoryos.pydantic_schema import rebuilt

RETIRED = frozenset(("readers", "writers", "sharers", "decay", "priority", "watermark"))


class WithRetired:
    """A value in whose documents such fields may be; they are dropped."""

    __slots__ = ()

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, given: Any) -> Any:
        if not isinstance(given, dict) or RETIRED.isdisjoint(given):  # otherwise it was not read from a document
            return given
        return {name: value for name, value in given.items() if name not in RETIRED}


def may_have_retired(document: str | bytes) -> bool:
    """Whether a document may have such fields: older programs wrote all of them."""
    return b'"decay"' in document if isinstance(document, bytes) else '"decay"' in document


def unasked(schema: Any) -> Any:
    """The schema with which pydantic reads what has no such fields, without asking `WithRetired`."""
    return rebuilt(schema, _unasked)


def _unasked(part: Mapping[str, Any]) -> Mapping[str, Any]:
    while part.get("type") == "function-before" and _is_of_retired(part["function"]["function"]):
        part = part["schema"]
    return part


def _is_of_retired(function: Any) -> bool:
    """Whether it is what the class of a part asks."""
    asked: Any = WithRetired._without_retired
    return getattr(function, "__func__", None) is asked.__func__
