"""Pages: the dialogue, page by page."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.cube import MemCube
from memoryos.kinds import Kind, Tier
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.recall.overview import lasting


@door
class Pages(Noun):
    """The dialogue pages of one owner."""

    def list(self, *, tier: Tier | None = None) -> Sequence[MemCube]:
        """The dialogue pages of a tier (all when none is named) that have not expired, oldest first."""
        tiers = [] if tier is None else [arguments.one_of("tier", tier, Tier)]
        with self._engine.settled(self._scope) as reader:
            return lasting(reader.cubes(Kind.PAGE, tiers=tiers), self._engine.clock())
