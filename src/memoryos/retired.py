"""Retired: fields of cubes that never had an effect, and are not part of them any more.

Older programs wrote them into every cube; they read cubes without them.
"""

from __future__ import annotations

from typing import Any

from pydantic import model_validator

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
    """The schema with which pydantic reads what has no such fields, without asking `WithRetired`.

    The origin keeps pydantic from the validator that each class within the schema has.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(map(unasked, schema))
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "function-before" and _is_of_retired(schema["function"]["function"]):
        return unasked(schema["schema"])
    told = {name: unasked(one) for name, one in schema.items()}
    return {**told, "generic_origin": told["cls"]} if told.get("type") == "dataclass" else told


def _is_of_retired(function: Any) -> bool:
    """Whether it is what the class of a part asks."""
    asked: Any = WithRetired._without_retired
    return getattr(function, "__func__", None) is asked.__func__
