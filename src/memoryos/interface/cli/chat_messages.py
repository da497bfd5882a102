"""Chat messages of a file or of standard input: JSON as chat APIs have it, or JSON Lines."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from json import loads
from pathlib import Path
from typing import Any

from memoryos.errors import InvalidInput
from memoryos.operation.intake.decoded import Decoded

_OPTION = "--messages"


def messages_in(path: Path) -> list[Any]:
    """The messages of a file; - is standard input. Raises InvalidInput."""
    text = "".join(Decoded([_bytes(path)], _OPTION)).strip()
    try:
        found = loads(text)
    except (ValueError, RecursionError):
        found = [_message(line, number) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return found if isinstance(found, list) else [found]


def _bytes(path: Path) -> bytes:
    from memoryos.importers.source import read_bounded

    try:
        with nullcontext(sys.stdin.buffer) if str(path) == "-" else path.open("rb") as file:
            return read_bounded(file, _OPTION)
    except OSError as error:
        raise InvalidInput(_OPTION, f"cannot be read: {type(error).__name__}", "Name a file, or -") from None


def _message(line: str, number: int) -> Any:
    try:
        return loads(line)
    except (ValueError, RecursionError):
        raise InvalidInput(_OPTION, f"is not JSON in line {number}", "Pass a list, or a message in each line") from None
