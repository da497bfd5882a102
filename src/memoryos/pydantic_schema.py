"""Pydantic schema: makes a schema of pydantic anew, with some of its parts changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Change = Callable[[Mapping[str, Any]], Mapping[str, Any]]  #: a part as it is to be, before the parts within it


def rebuilt(schema: Any, change: Change) -> Any:
    """The schema with each part as `change` has it.

    The origin keeps pydantic from the serializer and the validator that each class within the schema has.
    """
    if isinstance(schema, list | tuple):
        return type(schema)(rebuilt(one, change) for one in schema)
    if not isinstance(schema, dict):
        return schema
    told = {name: rebuilt(one, change) for name, one in change(schema).items()}
    return {**told, "generic_origin": told["cls"]} if told.get("type") == "dataclass" else told
