"""Plain: values that convert to dicts and JSON, can be pickled, and can be returned from web handlers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date
from enum import Enum
from typing import Any, ClassVar

from pydantic_core import CoreSchema, SchemaSerializer, core_schema

from memoryos.pydantic_schema import rebuilt

_ATOMS = {str, int, float, bool, type(None)}
_NAMES: dict[type, tuple[str, ...]] = {}  # of the fields of each class: `fields` takes longer

EVERY_FIELD = "every field"  # the context in which pydantic writes what a store needs, and not what `to_dict` tells


class Plain:
    """A value that converts to JSON data: times as ISO 8601, enums as their values, bytes as base64.

    pydantic writes it as `to_dict` does, and so does a FastAPI handler whose return annotation is its class.
    """

    __slots__ = ()

    __pydantic_serializer__: ClassVar[SchemaSerializer]

    def to_dict(self) -> dict[str, Any]:
        """Return the value as a dict of strings, numbers, lists and dicts."""
        return _fields(self)

    def to_json(self) -> str:
        """Return the value as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], CoreSchema]) -> CoreSchema:
        """Return the schema with which pydantic reads the value as any other class, and writes it as `to_dict`."""
        read = core_schema.is_instance_schema(cls) if issubclass(cls, list) else handler(source)
        return {**read, "serialization": _AS_DICT}


def _told(value: Plain, fields_of: Callable[[Any], Any], info: core_schema.SerializationInfo) -> Any:
    return fields_of(value) if info.context is EVERY_FIELD else value.to_dict()


_AS_DICT = core_schema.wrap_serializer_function_ser_schema(
    _told, info_arg=True, return_schema=core_schema.dict_schema(core_schema.str_schema())
)


def bare(schema: Any) -> Any:
    """The schema with which pydantic writes every field of a value, in half the time: it calls no function of ours."""
    return rebuilt(schema, _bare)


def _bare(part: Mapping[str, Any]) -> Mapping[str, Any]:
    if part.get("type") == "enum" and part.get("sub_type") == "str":
        return {"type": "str"}  # pydantic asks a member of an enum for its value, which is a function of Python
    return {name: one for name, one in part.items() if not (name == "serialization" and _is_as_dict(one))}


def _is_as_dict(serialization: Any) -> bool:
    return isinstance(serialization, dict) and serialization.get("function") is _told


# pydantic asks a value for this where it knows no type, as in dict[str, Any].
Plain.__pydantic_serializer__ = SchemaSerializer(core_schema.any_schema(serialization=_AS_DICT))


def plain(value: Any) -> Any:
    """Convert any part of a Plain value to JSON data."""
    if type(value) in _ATOMS:  # most parts are
        return value
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
    kind = type(value)
    names = _NAMES.get(kind) or _NAMES.setdefault(kind, tuple(one.name for one in fields(value)))
    return {name: plain(getattr(value, name)) for name in names}


class PlainContent(Plain):
    """A plain value with words of memories: `privacy_on_read` applies to what it holds."""

    __slots__ = ()
