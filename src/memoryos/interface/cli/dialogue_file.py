"""The messages of a running dialogue from a JSON file or standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from memoryos.errors import InvalidInput

_FIX = 'Write a list of messages such as {"role": "user", "content": "..."}'


def dialogue_in(path: str | None) -> list[dict[str, Any]]:
    """The messages; none without a path. Raises InvalidInput for what is no list of objects."""
    if path is None:
        return []
    from pydantic import TypeAdapter, ValidationError

    from memoryos.importers.source import read_bounded, read_json

    shape = TypeAdapter(list[dict[str, Any]])
    if path != "-":
        return read_json(Path(path), shape, fix=_FIX)
    try:
        return shape.validate_json(read_bounded(sys.stdin.buffer, "standard input"))
    except ValidationError:
        raise InvalidInput("standard input", "is not a list of messages in JSON", _FIX) from None
