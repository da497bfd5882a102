"""Samples: a value of a type, made of samples of its fields: the description shows with it what an answer is like."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from enum import Enum
from inspect import isclass
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import AwareDatetime

from memoryos.cube import Fact, MemCube, ProfileField, Segment, Trait
from memoryos.interface.rest.desk import document_of
from memoryos.interface.rest.route import Route
from memoryos.kinds import Kind, Level, Subject, Tier
from memoryos.listing import Listing
from memoryos.operation.pipelines.pipeline import Pipeline
from memoryos.operation.pipelines.pipeline_listing import PipelineListing
from memoryos.operation.pipelines.pipeline_steps import ListStep
from memoryos.operation.recall.overview import SegmentView
from memoryos.retention import RetentionRule
from memoryos.scope import Scope

_MOMENT = datetime(2026, 5, 1, 9, 30, tzinfo=UTC)
_PIPELINE = Pipeline("latest", [ListStep(most=5)], description="The latest pages.")
_DEEPEST = 6  # of values in values: provenance has provenance
_ATOMS: Mapping[Any, Any] = {
    str: "text",
    int: 1,
    float: 0.5,
    bool: True,
    bytes: b"bytes",
    datetime: _MOMENT,
    AwareDatetime: _MOMENT,
    Scope: Scope("ann"),
    RetentionRule: RetentionRule("codes", tags=("code",), ttl_seconds=2_592_000.0),
    Pipeline: _PIPELINE,
    PipelineListing: PipelineListing([_PIPELINE]),
    date: _MOMENT.date(),
    Any: "value",
    object: "value",
    type(None): None,
}
# Of texts, by the name of their field.
_TEXTS: Mapping[str, str] = {
    "id": "019dd1e5-0000-7000-8000-000000000001",
    "user": "ann",
    "caller": "ann",
    "agent": "default",
    "tenant": "default",
    "name": "home",
    "text": "I keep bees.",
    "query": "Where are the bees?",
    "media_type": "text/plain",
    "by": "ann",
    "tags": "home",
    "session": "s1",
    "model": "gpt-4o-mini",
    "embedder": "static",
    "at": _MOMENT.isoformat(),
    "kind": "page",
    "metadata": '{"place": "yard"}',
}


_NUMBERS: Mapping[str, int] = {"turn": 0, "index": 0}  # of the turns of a page, the first

# What memories are that are no pages, and where they are.
_OTHERS: Mapping[Kind, tuple[Segment | Fact | Trait | ProfileField, Tier]] = {
    Kind.SEGMENT: (
        Segment(summary="I keep bees.", keywords=(("bees", 1),), pages=1, first_at=_MOMENT, last_at=_MOMENT),
        Tier.MTM,
    ),
    Kind.FACT: (Fact(subject=Subject.USER, text="The user keeps bees.", quote="I keep bees."), Tier.LPM),
    Kind.TRAIT: (
        Trait(subject=Subject.USER, dimension="Animal Concern", level=Level.HIGH, reason="'I keep bees.'"),
        Tier.LPM,
    ),
    Kind.PROFILE: (
        ProfileField(subject=Subject.USER, field="location", value="Lisbon", quote="I live in Lisbon."),
        Tier.LPM,
    ),
}
# Of which kind the memories are in a field, or in the answer of a noun; others are pages.
_KINDS = {
    **dict.fromkeys(("facts", "user_facts", "agent_facts", "knowledge", "proposals"), Kind.FACT),
    "traits": Kind.TRAIT,
    "profile": Kind.PROFILE,
    "segments": Kind.SEGMENT,
}


def answer_sample(route: Route) -> Any:
    """The document of an answer, made of a sample of what its operation returns; None: it has none."""
    kind, of = answer_kind(route)
    if kind is type(None):
        return None
    made = sample(kind, of=of)
    return document_of(_TEXTS["id"] if isinstance(made, str) and not route.named else made, route.named)


def answer_kind(route: Route) -> tuple[Any, Kind]:
    """The type of what the operation of a route returns, and the kind of the memories in it."""
    returned = get_type_hints(route.method, include_extras=True)["return"]
    return returned, _KINDS.get(route.name.partition(".")[0], Kind.PAGE)


def sample(kind: Any, name: str = "", depth: int = 0, *, of: Kind = Kind.PAGE) -> Any:
    """A value of a type; `name` is that of the field that has it, and memories in it are `of` a kind."""
    of = _KINDS.get(name, of)
    if name in _NUMBERS and kind is int:
        return _NUMBERS[name]
    if kind in (str, Any, object):
        return _TEXTS.get(name, _TEXTS["id"] if name.endswith(("_id", "_ids", "ids")) else _ATOMS[str])
    if isinstance(kind, type) and kind in _ATOMS:
        return _ATOMS[kind]
    if isclass(kind) and issubclass(kind, Enum):
        return next(iter(kind))
    if is_dataclass(kind) and isclass(kind):
        return _of_fields(kind, depth + 1, Kind.SEGMENT if kind is SegmentView else of)
    return _of_parts(kind, name, depth, of)


def _of_fields(kind: type, depth: int, of: Kind) -> Any:
    known = get_type_hints(kind, include_extras=True)
    told = {
        one.name: sample(known[one.name], one.name, depth, of=of)
        for one in fields(kind)
        if one.init and _is_told(one, depth)
    }
    made = kind(**told)
    if isinstance(made, MemCube) and of in _OTHERS:
        payload, tier = _OTHERS[of]
        return replace(made, payload=payload, tier=tier)
    return made


def _is_told(one: Any, depth: int) -> bool:
    """Whether a field is told: deep within, only those that must be."""
    return depth < _DEEPEST or (one.default is MISSING and one.default_factory is MISSING)


def _of_parts(kind: Any, name: str, depth: int, of: Kind) -> Any:
    origin, parts = get_origin(kind), get_args(kind)
    if isinstance(kind, TypeVar):
        return _ATOMS[str]
    if origin is Annotated:
        return sample(parts[0], name, depth, of=of)
    if origin is Literal:
        return parts[0]
    if origin in (Union, types.UnionType):
        return sample(parts[0], name, depth, of=of)
    if isclass(origin) and issubclass(origin, Mapping):
        return {sample(parts[0], "kind", depth): sample(parts[1], name, depth, of=of)}
    if isclass(origin) and issubclass(origin, Listing):
        return origin([sample(parts[0], name, depth, of=of)])
    if origin is tuple and parts[-1] is not Ellipsis:
        return tuple(sample(one, name, depth, of=of) for one in parts)
    if isclass(origin) and issubclass(origin, Sequence | AbstractSet):
        made = [] if depth >= _DEEPEST else [sample(parts[0], name, depth, of=of)]
        several: Any = tuple if origin is Sequence else origin
        return several(made)
    raise TypeError(f"there is no sample of {kind}")
