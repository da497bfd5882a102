"""JSON kinds: what a parameter is in JSON, and the limits that the description tells.

The library checks all limits itself, in its own words, so the models only describe them. What the models check are the
types: in a body, a number is no text and no truth value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, StrictBool, WithJsonSchema

from memoryos.arguments import HIGHEST, LONGEST_DAYS, MOST
from memoryos.config import LONGEST_WAIT
from memoryos.nouns.activations import MOST_BESIDE
from memoryos.nouns.branches import NAME_CHARS
from memoryos.nouns.lora_adapters import HEAVIEST
from memoryos.nouns.schedule import MOST_MS
from memoryos.scope import ID_LIMIT

#: White space of ECMA-262, in which a pattern is, lacks some that Python strips.
VISIBLE = {"minLength": 1, "pattern": r"^[^\x00]*[^\s\x00\x1c-\x1f\x85][^\x00]*$"}
_MOMENT = [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]


def _number(value: Any) -> Any:
    if isinstance(value, bool | str):
        raise ValueError("expected a number")  # noqa: TRY004 - pydantic takes this one
    return value


Truth = StrictBool
Whole = Annotated[int, BeforeValidator(_number)]
Number = Annotated[float, BeforeValidator(_number)]
Text = Annotated[str, WithJsonSchema({"type": "string", **VISIBLE})]
Id = Annotated[str, WithJsonSchema({"type": "string", **VISIBLE, "maxLength": ID_LIMIT})]
BranchName = Annotated[str, WithJsonSchema({"type": "string", **VISIBLE, "maxLength": NAME_CHARS})]
Moment = Annotated[str, WithJsonSchema({"anyOf": _MOMENT})]
JsonText = Annotated[str, WithJsonSchema({"type": "string", "format": "json"})]
Cursor = Annotated[str, WithJsonSchema({"type": "string", "format": "cursor"})]

IN_BODY: Mapping[Any, Any] = {bool: Truth, int: Whole, float: Number}

#: Kinds of texts by the names of their parameters; all others are Text.
TEXTS: Mapping[str, Any] = {
    **dict.fromkeys(("user", "agent", "session", "tenant"), Id),
    **dict.fromkeys(("filters", "receipt"), JsonText),
    "cursor": Cursor,
    "memory_id": str,
}

_COUNT = {"minimum": 1, "maximum": MOST}
_COUNT_OR_NONE = {**_COUNT, "minimum": 0}
_PERIOD = {"exclusiveMinimum": 0, "maximum": LONGEST_DAYS * 86_400}
_ANY_COUNT = {"minimum": 0, "maximum": HIGHEST}
#: What the description tells of parameters: by their names, with those of one operation after it.
LIMITS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("limit", "tokens", "pages", "version", "expected_version", "newer", "older"), _COUNT),
    **dict.fromkeys(("facts", "visits"), _COUNT_OR_NONE),
    **dict.fromkeys(("after", "log.events.limit"), _ANY_COUNT),
    **dict.fromkeys(("unused", "snapshots.create.ttl", "branches.create.ttl", "governance.retain.ttl"), _PERIOD),
    "ttl": {"exclusiveMinimum": 0},
    "timeout": {"minimum": 0, "maximum": LONGEST_WAIT},
    "min_score": {"minimum": 0, "maximum": 1},
    "bits": {"enum": [8, None]},
    "weight": {"exclusiveMinimum": 0, "maximum": HEAVIEST},
    "ms": {"minimum": 0, "maximum": MOST_MS},
    **dict.fromkeys(("size_bytes", "schedule.explain.tokens", "schedule.decide.tokens"), _ANY_COUNT),
    "duplicates.merge.ids": {"minItems": 2},
    "tagged.tags": {"minItems": 1},
    "activations.answer.beside": {"maxItems": MOST_BESIDE - 1, "uniqueItems": True},
}
