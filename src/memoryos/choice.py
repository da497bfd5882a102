"""Choice: an enum whose members callers name by their values."""

from __future__ import annotations

from enum import StrEnum
from typing import NoReturn

from memoryos.errors import InvalidInput
from memoryos.text import shown


class Choice(StrEnum):
    """An enum that callers name by its values. A value that it does not have raises InvalidInput."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        known = ", ".join(choice.value for choice in cls)
        raise InvalidInput(cls.__name__.lower(), f"{shown(value)} is unknown", f"Use one of: {known}")
