"""Answer schema: the JSON Schema of what an operation answers, by the types of its value and of their fields.

Each class has a schema under its name, to which others refer. A class that tells itself in another way than by its
fields (`to_dict`) is described by a sample of it: each name that the sample has, with the type of the field or property
of that name where the sample has a value of this type. Nothing is said of the others, and all may be missing.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from inspect import isclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import AwareDatetime

from memoryos.cube import MemCube, Turn
from memoryos.interface.rest.answer_meanings import meanings, result_meaning
from memoryos.interface.rest.member_meanings import with_meanings
from memoryos.interface.rest.own_key_route import OWN_KEY
from memoryos.interface.rest.route import Route
from memoryos.interface.rest.samples import answer_kind, sample
from memoryos.kinds import AccessMode, Kind
from memoryos.listing import Listing
from memoryos.operation.consolidation.propose import Proposal
from memoryos.operation.pipelines.pipeline import Pipeline
from memoryos.operation.pipelines.pipeline_listing import PipelineListing
from memoryos.operation.pipelines.pipeline_steps import PipelineStep
from memoryos.operation.recall.hit import Hit, TurnHit
from memoryos.operation.recall.overview import Persona, SegmentView
from memoryos.plain import Plain, plain

Schema = dict[str, Any]

_ATOMS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    datetime: {"type": "string", "format": "date-time"},
    AwareDatetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    type(None): {"type": "null"},
    PipelineStep: {"type": "object"},  # its fields stand under its verb
}
_OF_ANY_KIND = (MemCube, Hit, Proposal)  # what is about a page, a topic, a fact, a trait or a profile field
# What `to_dict` tells under a name that is no field or property, or of another type.
_TOLD: Mapping[type, Mapping[str, Any]] = {
    MemCube: {
        "recorded_at": datetime,
        "expires_at": datetime | None,
        "access": AccessMode,
        "sensitivity": tuple[str, ...],
        "source_ids": tuple[str, ...],
        "provenance": tuple[str, ...],
        "quote": str | None,
        "version": int,
        "turns": tuple[Turn, ...],
    },
    SegmentView: {"pages": int, "visits": int, "interactions": int},
    TurnHit: {"turn": int},
    Persona: {"profile": Mapping[str, str]},
    PipelineListing: {"items": tuple[Pipeline, ...], "cursor": type(None), "broken": Mapping[str, str]},
}
_JSON = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object"}


class AnswerSchemas:
    """The schemas of the classes that answers have, each once: parts of the description under `components`."""

    def __init__(self) -> None:
        self.classes: dict[str, Schema] = {}

    def answer(self, route: Route, document: Mapping[str, Any]) -> Schema:
        """The schema of what a route answers; `document` is one of its answers."""
        told = self._answer(route, document)
        if route.changes:  # the answer to a repeated request has its ids and counts alone
            self.classes.get(told.get("$ref", "").rpartition("/")[2], told).pop("required", None)
        return told

    def _answer(self, route: Route, document: Mapping[str, Any]) -> Schema:
        if route.named == "ids":
            return _result(route, "ids", {"type": "array", "items": _ATOMS[str]})
        kind, _ = answer_kind(route)
        told = self.of(kind)
        if route is OWN_KEY:  # null, if the store has no keys
            told = {"anyOf": [told, _ATOMS[type(None)]]}
        if route.named:
            return _result(route, route.named, told)
        if told.get("type") == "array":
            return _listing(told["items"])
        is_document = "$ref" in told or told.get("type") == "object"
        if is_document:
            return told
        ((name, value),) = document.items()
        return _result(route, name, self.of(type(value)))

    def of(self, kind: Any) -> Schema:
        """The schema of a value of that type."""
        if kind in _ATOMS:
            return dict(_ATOMS[kind])
        if isclass(kind) and issubclass(kind, Enum):
            return {"enum": [one.value for one in kind]}
        if isclass(kind) and (is_dataclass(kind) or issubclass(kind, Listing)):
            return self._class(kind)
        return self._parts(kind)

    def _class(self, kind: type) -> Schema:
        name = kind.__name__
        if name not in self.classes:
            self.classes[name] = {}  # for a class that has values of itself
            said = meanings(kind, _TOLD.get(kind, {}))
            self.classes[name] = with_meanings(self._described(kind), said) | {"title": name}
        return {"$ref": f"#/components/schemas/{name}"}

    def _described(self, kind: type) -> Schema:
        if getattr(kind, "to_dict", Plain.to_dict) is Plain.to_dict:
            known = get_type_hints(kind, include_extras=True)
            return _object({one.name: self.of(known[one.name]) for one in fields(kind)})
        told: dict[str, list[Any]] = {}
        for of in Kind if kind in _OF_ANY_KIND else [Kind.PAGE]:
            for name, value in plain(sample(kind, of=of)).items():
                told.setdefault(name, []).append(value)
        known = {name: self.of(found) for name, found in _types(kind).items() if name in told}
        return {"type": "object", "properties": {name: self._fitting(known, name, told[name]) for name in told}}

    def _fitting(self, known: Mapping[str, Schema], name: str, values: Sequence[Any]) -> Schema:
        return known[name] if name in known and all(self._fits(known[name], one) for one in values) else {}

    def _fits(self, schema: Schema, value: Any) -> bool:
        """Whether a value is of the type that a schema names."""
        if "$ref" in schema:
            schema = self.classes[schema["$ref"].rpartition("/")[2]]
            return isinstance(value, dict) and value.keys() <= schema.get("properties", {}).keys()
        if "anyOf" in schema:
            return any(self._fits(one, value) for one in schema["anyOf"])
        if schema.get("type") == "array" and isinstance(value, list):
            return all(self._fits(schema["items"], one) for one in value)
        if "enum" in schema:
            return value in schema["enum"]
        return value is None if schema.get("type") == "null" else schema.get("type") == _JSON.get(type(value))

    def _parts(self, kind: Any) -> Schema:
        origin, parts = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.of(parts[0])
        if origin is Literal:
            return {"enum": list(parts)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(one) for one in parts]}
        if isclass(origin) and issubclass(origin, Listing):
            return _listing(self.of(parts[0]))
        if isclass(origin) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(parts[1])}
        if origin is tuple and parts[-1] is not Ellipsis:
            return {"type": "array", "items": {"anyOf": [self.of(one) for one in parts]}}
        if isclass(origin) and issubclass(origin, Sequence | AbstractSet):
            return {"type": "array", "items": self.of(parts[0])}
        return {}


def _types(kind: type) -> dict[str, Any]:
    """The types of the fields and properties of a class, after those of the memory that it is about."""
    known = get_type_hints(kind, include_extras=True)
    about = _types(MemCube) if known.get("cube") is MemCube else {}
    properties = {
        name: get_type_hints(one.fget, include_extras=True).get("return")
        for name, one in vars(kind).items()
        if isinstance(one, property)
    }
    return {**about, **properties, **known, **_TOLD.get(kind, {})}


def _object(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "required": list(properties), "properties": dict(properties)}


def _listing(items: Schema) -> Schema:
    cursor: Schema = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    told = _object({"items": {"type": "array", "items": items}, "cursor": cursor})
    return with_meanings(told, meanings(Listing, {}))


def _result(route: Route, name: str, told: Schema) -> Schema:
    """The schema of an answer that has a result which is no document, under a name."""
    return with_meanings(_object({name: told}), {name: result_meaning(route, name)})
