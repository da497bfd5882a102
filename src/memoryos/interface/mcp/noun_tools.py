"""Noun tools: tools that have several verbs, each a method of one noun of the memory, with what each verb takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from memoryos.errors import InvalidInput
from memoryos.interface.mcp.tool_arguments import ID_CHARS, QUESTION_CHARS, MemoryId
from memoryos.tool_schema import ToolArguments

MOST_IDS = 1_000
HEAVIEST_WEIGHT = 10
MOST_NUMBER = 2**31 - 1
_HOUR_MS = 3_600_000

# The arguments of each verb; those that it needs have a star.
VERBS: Mapping[str, Mapping[str, str]] = {
    "activations": {"list": "", "get": "name*", "build": "name* kinds ids bits", "delete": "name*"},
    "adapters": {
        "list": "",
        "get": "name*",
        "train": "name* kinds ids tags questions",
        "load": "name* weight",
        "unload": "name*",
        "rollback": "name* number*",
        "recollect": "name*",
        "withdraw": "name*",
        "retire": "name*",
        "delete": "name*",
    },
    "schedule": {
        "explain": "query* tokens ms size_bytes",
        "decide": "query* tokens ms size_bytes",
        "log": "limit",
        "moves": "",
    },
    "forms": {
        "list": "memory_id",
        "transform": "name* source target kinds ids keeps",
        "outcome": "name* source target",
        "cool": "",
    },
}

Name = Annotated[str | None, Field(min_length=1, max_length=ID_CHARS, description="Its name; `list` shows the names.")]
Ids = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=ID_CHARS)]] | None,
    Field(max_length=MOST_IDS, description="Memories, by their ids."),
]


class ActivationsArguments(ToolArguments):
    """What `activations` takes."""

    verb: Literal["list", "get", "build", "delete"] = Field(description="What to do.")
    name: Name = None
    kinds: list[Literal["profile", "trait", "fact"]] | None = Field(
        None, max_length=3, description="build: all memories of these kinds. Default: all three."
    )
    ids: Annotated[Ids, Field(description="build: memories beside them, by their ids.")] = None
    bits: int | None = Field(None, ge=8, le=8, description="build: 8 for a smaller state that is not exact.")


class AdaptersArguments(ToolArguments):
    """What `adapters` takes."""

    verb: Literal["list", "get", "train", "load", "unload", "rollback", "recollect", "withdraw", "retire", "delete"] = (
        Field(description="What to do.")
    )
    name: Name = None
    kinds: list[Literal["fact", "profile", "page", "segment"]] | None = Field(
        None, max_length=4, description="train: what it learns from; segment: the pages of topics. Default: fact."
    )
    ids: Annotated[Ids, Field(description="train: only these memories.")] = None
    tags: list[Annotated[str, Field(min_length=1, max_length=ID_CHARS)]] | None = Field(
        None, max_length=32, description="train: only memories that carry one of these tags."
    )
    questions: Literal["templates", "model"] | None = Field(
        None, description="train: model has the chat model word further questions. Default: templates."
    )
    weight: float | None = Field(
        None, gt=0, le=HEAVIEST_WEIGHT, description="load: how much it counts in answers. Default: 1."
    )
    number: int | None = Field(None, ge=1, le=MOST_NUMBER, description="rollback: the version to use.")


class ScheduleArguments(ToolArguments):
    """What `schedule` takes."""

    verb: Literal["explain", "decide", "log", "moves"] = Field(description="What to do.")
    query: str | None = Field(
        None, min_length=1, max_length=QUESTION_CHARS, description="explain, decide: the question."
    )
    tokens: int | None = Field(None, ge=0, le=MOST_NUMBER, description="explain, decide: most tokens of memories.")
    ms: float | None = Field(
        None, ge=0, le=_HOUR_MS, description="explain, decide: most milliseconds until the first token."
    )
    size_bytes: int | None = Field(
        None, ge=0, le=2**53, description="explain, decide: most bytes of KV states and adapters."
    )
    limit: int | None = Field(None, ge=1, le=100, description="log: most decisions. Default: 20.")


class FormsArguments(ToolArguments):
    """What `forms` takes."""

    verb: Literal["list", "transform", "outcome", "cool"] = Field(description="What to do.")
    name: Annotated[Name, Field(description="transform, outcome: the name of the KV state or adapter.")] = None
    source: Literal["text", "kv", "adapter"] | None = Field(
        None, description="transform, outcome: the form before. Default: text."
    )
    target: Literal["text", "kv", "adapter"] | None = Field(
        None, description="transform, outcome: the form after. Default: kv."
    )
    kinds: list[Literal["profile", "trait", "fact", "page"]] | None = Field(
        None, max_length=4, description="transform, from text: memories of these kinds."
    )
    ids: Annotated[Ids, Field(description="transform, from text: these memories.")] = None
    keeps: bool | None = Field(
        None, description="transform, to text: false removes the KV state or adapter. Default: true."
    )
    memory_id: Annotated[MemoryId | None, Field(description="list: only what was made of this memory, or told it.")] = (
        None
    )


def checked_verb(noun: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The verb and its arguments. Raises InvalidInput for one that it does not take, and for one that is missing."""
    others = {name: one for name, one in given.items() if name != "verb"}
    verb = given["verb"]
    taken = VERBS[noun][verb].split()
    known = [name.removesuffix("*") for name in taken]
    if unknown := sorted(others.keys() - {*known}):
        raise InvalidInput(unknown[0], f"is nothing that {verb} takes", f"It takes: {', '.join(known) or 'nothing'}")
    if missing := [name[:-1] for name in taken if name.endswith("*") and name[:-1] not in others]:
        raise InvalidInput(missing[0], "is missing", f"Pass it: {verb} needs it")
    return verb, others
