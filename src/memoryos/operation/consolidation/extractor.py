"""Long-term memory from dialogue pages: what an extractor is, and the one that needs no model.

Rules need no model and never invent words: every finding carries the exact words it rests on. An extractor
that asks a chat model implements the same `Extractor` protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from memoryos.cube import Fact, MemCube, ProfileField, SemanticType, Trait
from memoryos.operation.consolidation.persona import PersonaSchema
from memoryos.operation.consolidation.traits import TraitReader


@dataclass(frozen=True, slots=True)
class Finding:
    """Something learned from pages, not yet a memory."""

    payload: Fact | Trait | ProfileField
    pages: tuple[str, ...]  #: ids of the pages that support it
    event_at: datetime  #: when it was last said; of a home, when one moved there if that was long before
    semantic_type: SemanticType
    is_over: bool = False  #: of a profile field: it no longer holds; an empty value stands for whichever did
    moments: tuple[datetime, ...] = ()  #: when each of the pages said it; `event_at` for all when left out


class Extractor(Protocol):
    """Turns pages into findings."""

    name: str

    def extract(self, pages: Sequence[MemCube]) -> list[Finding]:
        """Find what the pages say about the user and the agent."""
        ...


class RuleExtractor:
    """Extracts by rules, in English and Chinese; deterministic."""

    def __init__(self, schema: PersonaSchema | None = None) -> None:
        self.name = "rules"
        self._traits = TraitReader(schema or PersonaSchema.load())

    def extract(self, pages: Sequence[MemCube]) -> list[Finding]:
        """Facts and profile fields in the order they were said, then traits in the order of the schema."""
        from memoryos.operation.consolidation import rules  # 0.15 s, which an add or a search need not pay

        return rules.findings(pages, self._traits)
