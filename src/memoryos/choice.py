"""Choice: an enum whose members callers name by their values."""

from __future__ import annotations

from enum import EnumType, StrEnum
from typing import Any, NoReturn

from memoryos.errors import InvalidInput
from memoryos.text import shown


class _Named(EnumType):
    """Refuses what is no text before Enum writes the value into an error of its own, which a deep list cannot be."""

    def __call__(cls, value: Any, *more: Any, **named: Any) -> Any:
        if not isinstance(value, str):
            cls._missing_(value)  # type: ignore[attr-defined]
        return super().__call__(value, *more, **named)


class Choice(StrEnum, metaclass=_Named):
    """An enum that callers name by its values. A value that it does not have raises InvalidInput."""

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        known = ", ".join(choice.value for choice in cls)
        raise InvalidInput(cls.__name__.lower(), f"{shown(value)} is unknown", f"Use one of: {known}")
