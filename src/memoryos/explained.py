"""Explained: makes a class of values raise InvalidInput for a wrong field."""

from __future__ import annotations

from functools import wraps
from typing import Any, TypeVar

from pydantic import ConfigDict, ValidationError

from memoryos.errors import InvalidInput
from memoryos.refusal import Refusal

_Made = TypeVar("_Made")

VALUE = ConfigDict(extra="forbid", allow_inf_nan=False)  # to build it late would undo `explained`


def explained(kind: type[_Made]) -> type[_Made]:
    """Make a class raise InvalidInput for a wrong field when callers construct it."""
    make = kind.__init__

    @wraps(make)
    def checked(self: _Made, *args: Any, **fields: Any) -> None:
        try:
            make(self, *args, **fields)
        except ValidationError as error:
            names = list(kind.__annotations__)
            refusal = Refusal.of(error, names)
            place = f"{kind.__name__.lower()}.{refusal.place}".removesuffix(".")
            raise InvalidInput(place, refusal.problem, refusal.fix or f"Its fields: {', '.join(names)}") from None

    kind.__init__ = checked  # type: ignore[assignment,method-assign]
    return kind
