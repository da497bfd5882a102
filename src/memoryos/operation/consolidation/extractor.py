"""Long-term memory from dialogue pages: what an extractor is, and the one that needs no model.

Rules need no model and never invent words: every finding carries the exact words it rests on. An extractor
that asks a chat model implements the same `Extractor` protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memoryos.cube import MemCube
from memoryos.operation.consolidation.finding import Finding
from memoryos.operation.consolidation.persona import PersonaSchema
from memoryos.operation.consolidation.traits import trait_reader


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
        self._traits = trait_reader(schema or PersonaSchema.named(None))

    def extract(self, pages: Sequence[MemCube]) -> list[Finding]:
        """Facts and profile fields in the order they were said, then traits in the order of the schema.

        A document says nothing about the user or the agent.
        """
        from memoryos.operation.consolidation import rules  # 0.15 s, which an add or a search need not pay

        return rules.findings([page for page in pages if not page.is_document], self._traits)
