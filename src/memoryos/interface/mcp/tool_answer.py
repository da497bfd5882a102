"""ToolAnswer: what a tool returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool returns: a document for programs, and a text for a model."""

    document: Mapping[str, Any]
    text: str
