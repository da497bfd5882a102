"""Parameters: the parameters of a method as JSON takes them.

Models are made of its signature, so that an address takes what the method takes, under the same names.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from itertools import islice
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints, is_typeddict

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from memoryos.errors import InvalidInput
from memoryos.interface.rest.json_body import read_json
from memoryos.interface.rest.json_kinds import IN_BODY, LIMITS, TEXTS, BranchName, Id, JsonText, Moment, Text
from memoryos.interface.rest.parameter_descriptions import DESCRIPTIONS
from memoryos.interface.rest.route import Route
from memoryos.operation.intake.messages import Messages
from memoryos.operation.intake.text_source import TextSource
from memoryos.plain import Plain
from memoryos.scope import PRIVATE, Scope

_OWNER: Mapping[str, tuple[Any, Any]] = {
    "user": (Id, Field(description=DESCRIPTIONS["user"])),
    "agent": (Id, Field("default", description=DESCRIPTIONS["agent"])),
    "session": (Id | None, Field(None, description=DESCRIPTIONS["session"])),
    "namespace": (list[Id], Field([], description=DESCRIPTIONS["namespace"])),
    "branch": (
        BranchName | None,
        Field(None, description=DESCRIPTIONS["branch"]),
    ),
}
_OBJECTS = {"filters": '{"any_tags": ["home"]}', "metadata": '{"page": 7}'}  # which are JSON in an address
_MOST_UNKNOWN = 16  # names that are told to be unknown: an error for each of a million holds up the server for seconds


class MethodParameter(NamedTuple):
    """A parameter of a method."""

    annotation: Any
    default: Any  #: inspect.Parameter.empty: it must be passed
    is_several: bool = False  #: it is `*names` in Python, and a list here


@dataclass(frozen=True, slots=True)
class Parameters:
    """What an address takes: in its path, its query and its body."""

    route: Route
    known: Mapping[str, MethodParameter]
    query: type[BaseModel]
    body: type[BaseModel] | None

    @classmethod
    @cache
    def of(cls, route: Route) -> Parameters:
        """Read them from the method."""
        known = {name: one for name, one in _parameters(route.method) if name not in route.without}
        in_path = [name for name in known if re.search(rf"{{{name}(:path)?}}", route.path)]
        rest = {name: one for name, one in known.items() if name not in in_path}
        is_read = not route.takes_json
        owner = {} if route.is_of_store else {name: one for name, one in _OWNER.items() if name not in known}
        title = "".join(part.title() for part in re.split(r"[._:]", route.operation))
        fields = {name: _field(route, name, one) for name, one in rest.items()}
        query = (
            _model(f"{title}Query", {**owner, **fields}, {}) if is_read and fields else _owner_query(frozenset(owner))
        )
        body = None if is_read or not rest else _model(f"{title}Body", fields, route.example)
        return cls(route, known, query, body)

    @property
    def in_path(self) -> list[str]:
        """The names of those in the path."""
        return re.findall(r"{(\w+)(?::path)?}", self.route.path)

    def owner(self, query: BaseModel, tenant: str) -> Scope:
        """The owner that a request names."""
        told = query.model_dump(include=set(_OWNER) - set(self.known))
        told.pop("branch", None)
        namespace = tuple(told.pop("namespace", ())) or PRIVATE
        return Scope(**told, tenant=tenant, namespace=namespace)

    def branch(self, query: BaseModel) -> str | None:
        """The branch of the owner's memory that a request names; None: the memory itself."""
        return None if "branch" in self.known else getattr(query, "branch", None)

    def _is_json(self, name: str, value: Any) -> bool:
        """Whether the value is the JSON of an object, as addresses have it."""
        return isinstance(value, str) and name in _OBJECTS and not self.route.takes_json

    def arguments(
        self, path: Mapping[str, str], query: BaseModel, body: BaseModel | None
    ) -> tuple[list[Any], dict[str, Any]]:
        """The arguments for the method: positional ones, which have no name, and others."""
        named = {**path, **_set(query), **(_set(body) if body else {})}
        wanted = {name: value for name, value in named.items() if name in self.known}
        wanted |= {name: _json(name, value) for name, value in wanted.items() if self._is_json(name, value)}
        several = next((name for name, one in self.known.items() if one.is_several), None)
        return list(wanted.pop(several, ())) if several else [], wanted


def _set(model: BaseModel) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model.model_fields_set}


def _json(field: str, text: str) -> Any:
    try:
        return read_json(text)
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        raise InvalidInput(field, "is not JSON", f"Pass e.g. {_OBJECTS[field]}") from None


def _model(name: str, fields: Mapping[str, tuple[Any, Any]], example: Mapping[str, Any]) -> type[BaseModel]:
    more = {"json_schema_extra": {"examples": [dict(example)]}} if example else {}
    config = ConfigDict(extra="forbid", **more)  # type: ignore[typeddict-item]
    checks = {"few_unknown": model_validator(mode="before")(partial(_with_few_unknown, frozenset(fields)))}
    made: type[BaseModel] = create_model(name, __config__=config, __validators__=checks, **fields)  # type: ignore[call-overload]
    return made


@cache  # FastAPI describes no more than 128 such models: beyond these, /openapi.json fails with a KeyError
def _owner_query(names: frozenset[str]) -> type[BaseModel]:
    """The query of an address that takes nothing there but the owner."""
    told = {name: field for name, field in _OWNER.items() if name in names}
    return _model("".join(["Owner", *map(str.title, told), "Query"]), told, {})


def _with_few_unknown(known: frozenset[str], told: Any) -> Any:
    """The members of an object without most of those that are unknown: it is refused for the first ones."""
    if not isinstance(told, dict):
        return told
    unknown = islice((name for name in told if name not in known), _MOST_UNKNOWN)
    kept = {*known, *unknown}
    return {name: value for name, value in told.items() if name in kept}


def _field(route: Route, name: str, one: MethodParameter) -> tuple[Any, Any]:
    """The kind of a parameter in JSON, and its default and description."""
    default, in_body = _default(one), route.takes_json
    text = str if default == "" else TEXTS.get(name, Text)
    kind = JsonKind(text, in_body).of(one.annotation)
    if one.is_several:
        kind = _list_of(kind)
    if not in_body and get_origin(_without_none(kind)) is dict:
        kind = JsonText | None
    limits = LIMITS.get(f"{route.operation}.{name}", LIMITS.get(name))
    return kind, Field(default, json_schema_extra=dict(limits) if limits else None)


def _default(one: MethodParameter) -> Any:
    if one.is_several:
        return []
    if one.default is inspect.Parameter.empty:
        return ...
    if isinstance(one.default, tuple | list | frozenset):
        return list(one.default)
    return one.default.total_seconds() if isinstance(one.default, timedelta) else one.default


def _parameters(method: Any) -> Iterator[tuple[str, MethodParameter]]:
    hints = get_type_hints(method)
    for one in list(inspect.signature(method).parameters.values())[1:]:
        hint = hints[one.name]
        if one.kind is one.VAR_KEYWORD:
            yield from _typed(get_args(hint)[0])
        else:
            yield one.name, MethodParameter(hint, one.default, one.kind is one.VAR_POSITIONAL)


def _typed(kind: Any) -> Iterator[tuple[str, MethodParameter]]:
    assert is_typeddict(kind)  # noqa: S101 - every ** of a public method is Unpack of one
    for name, hint in get_type_hints(kind).items():
        yield name, MethodParameter(hint, None)


def _list_of(kind: Any) -> Any:
    """A list that is refused at its first wrong item."""
    return Annotated[list[kind], Field(fail_fast=True)]


@dataclass(frozen=True, slots=True)
class JsonKind:
    """How Python types become JSON types: texts for times, numbers for durations, lists, dicts."""

    text: Any  #: what a text is
    in_body: bool  #: in an address, numbers are texts

    def of(self, kind: Any) -> Any:
        """The type that JSON has for a parameter."""
        if kind == Messages:
            return _list_of(dict[str, Any])
        if kind in (str, TextSource):  # a path, of a file on the server, it is not
            return self.text
        origin, parts = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return self._union(parts)
        if origin in (tuple, list) or (inspect.isclass(origin) and issubclass(origin, Iterable)):
            return dict[str, Any] if issubclass(origin, Mapping) else _list_of(self.of(parts[0]))
        kind = {datetime: Moment, timedelta: float}.get(kind, kind)
        return IN_BODY.get(kind, kind) if self.in_body else kind

    def _union(self, parts: tuple[Any, ...]) -> Any:
        """A choice takes its names alone, a time its text, and a text that may be a value in Python is a text."""
        if str in parts:
            parts = tuple(part for part in parts if not (inspect.isclass(part) and issubclass(part, Plain)))
        has_text = any(part is datetime or (inspect.isclass(part) and issubclass(part, Enum)) for part in parts)
        wanted = tuple(dict.fromkeys(self.of(part) for part in parts if not (has_text and part is str)))
        return Union[wanted]  # noqa: UP007 - of parts that are known at run time


def _without_none(kind: Any) -> Any:
    parts = [part for part in get_args(kind) if part is not type(None)]
    return parts[0] if get_origin(kind) in (Union, types.UnionType) and len(parts) == 1 else kind
