"""What an adapter for another back end is written with; docs/mounts.md has one in forty lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from memoryos.cube import Origin, Turn
from memoryos.infrastructure.vault.contract import Entry
from memoryos.models.embedder import Embedder
from memoryos.operation.ingest import embedded, page_cube, paginate
from memoryos.operation.mounts.adapter import Found, MemoryAdapter, OpenAdapter, Totals, Wanted
from memoryos.scope import Scope

__all__ = ["Embedder", "Entry", "Found", "MemoryAdapter", "OpenAdapter", "Origin", "Totals", "Wanted", "entries_of"]


def entries_of(
    dialogues: Iterable[Sequence[Turn]],
    scope: Scope,
    embedder: Embedder,
    *,
    now: datetime,
    origin: Origin = Origin.IMPORT,
    tags: Sequence[str] = (),
) -> list[Entry]:
    """The pages of dialogues, or of texts as single turns, ready for `Found.of`; turns must say when they were."""
    cubes = [
        page_cube(page, scope, now=now, origin=origin, tags=tuple(tags))
        for dialogue in dialogues
        for page in paginate(dialogue)
    ]
    return embedded(cubes, embedder)
