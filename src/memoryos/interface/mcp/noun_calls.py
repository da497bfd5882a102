"""Noun calls: what the tools with verbs do: each verb calls the method of its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memoryos.cube import MemCube
from memoryos.interface.mcp.memory_text import in_fence, memory_document, quoted_data
from memoryos.interface.mcp.noun_tools import checked_verb
from memoryos.interface.mcp.tool_answer import ToolAnswer
from memoryos.listing import Listing
from memoryos.memory import Memory
from memoryos.plain import Plain


def noun_call(noun: str) -> Callable[..., ToolAnswer]:
    """The call of the tool for that noun."""

    def call(memory: Memory, **given: Any) -> ToolAnswer:
        verb, others = checked_verb(noun, given)
        items = _documents(getattr(getattr(memory, noun), verb)(**others))
        text = "\n".join(json.dumps(one, ensure_ascii=False) for one in items)
        return ToolAnswer(
            {"verb": verb, "items": items}, in_fence(text) if items else f"{verb}: done, nothing to tell."
        )

    return call


def _documents(told: str | Plain | Listing[Plain] | None) -> list[dict[str, Any]]:
    """What a method returned, as documents; a text is the id of a job."""
    if told is None:
        return []
    if isinstance(told, str):
        return [{"job": told}]
    if isinstance(told, Listing):
        return [_document(one) for one in told]
    return [_document(told)]


def _document(told: Plain) -> dict[str, Any]:
    return memory_document(told) if isinstance(told, MemCube) else dict(quoted_data(told.to_dict()))
