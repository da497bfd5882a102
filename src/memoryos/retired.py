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
