"""Plain: values that convert to dicts and JSON, can be pickled, and can be returned from web handlers."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from typing import Any


class Plain:
    """A value that converts to JSON data: times as ISO 8601, enums as their values, bytes as base64."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the value as a dict of strings, numbers, lists and dicts."""
        return _fields(self)

    def to_json(self) -> str:
        """Return the value as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)


def plain(value: Any) -> Any:
    """Convert any part of a Plain value to JSON data."""
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
