"""Plain: values that leave the library as data: a dict, JSON, a pickle, or what a web handler returns."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from typing import Any


class Plain:
    """A value as data that JSON can hold: times as ISO 8601, enums as their values, bytes as base64."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The value as a dict of strings, numbers, lists and dicts."""
        return _fields(self)

    def to_json(self) -> str:
        """The dict as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def plain(value: Any) -> Any:
    """Any value that a Plain one holds, as data."""
    if isinstance(value, Plain):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if is_dataclass(value):
        return _fields(value)
    return _several(value)


def _several(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(one) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [plain(one) for one in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
