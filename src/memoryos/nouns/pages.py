"""Pages: the dialogue, page by page."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.cube import MemCube
from memoryos.kinds import Kind, Tier
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door


@door
class Pages(Noun):
    """The dialogue pages of one owner."""

    def list(self, *, tier: Tier | None = None) -> Sequence[MemCube]:
        """The dialogue pages of a tier (all when none is named), oldest first."""
        with self._engine.settled(self._scope) as reader:
            return reader.cubes(Kind.PAGE, tiers=[arguments.one_of("tier", tier, Tier)] if tier is not None else [])
