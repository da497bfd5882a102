"""Intake: turns that were checked become pages of a store, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.clock import Clock
from memoryos.cube import MemCube, Turn
from memoryos.infrastructure.vault.contract import Vault
from memoryos.kinds import Origin
from memoryos.models.embedder import Embedder
from memoryos.operation.intake import ingest
from memoryos.operation.intake.arrival import Arrival
from memoryos.operation.maintenance.housekeeping import Housekeeping
from memoryos.progress import Progress
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Arriving:
    """The turns of one call, and what holds for all of them."""

    turns: Sequence[Turn]
    now: datetime
    tags: tuple[str, ...] = ()
    origin: Origin = Origin.USER_INPUT
    key: str | None = None  #: names the call, so that it can be repeated


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes turns into one store."""

    vault: Vault
    embedder: Embedder
    housekeeping: Housekeeping
    clock: Clock

    def store(self, owner: Scope, arriving: Arriving, progress: Progress | None = None) -> list[str]:
        """Store the turns; returns the ids of their pages."""
        arrival = Arrival(self.vault, owner, self._pages(owner, arriving), arriving.key)
        with self.housekeeping.call():
            if (known := arrival.known()) is not None:
                return known
            ids = arrival.store(ingest.embedded(arrival.pages, self.embedder, progress))
        self.housekeeping.written(owner)
        return ids

    def _pages(self, owner: Scope, arriving: Arriving) -> list[MemCube]:
        return [
            ingest.page_cube(page, owner, now=arriving.now, origin=arriving.origin, tags=arriving.tags)
            for page in ingest.paginate(arriving.turns)
        ]
