"""The adapter contract: what a back end does to be mounted beside the own memory (MemOS paper, section 5.5.2).

A store of MemoryOS is mounted through `StoreAdapter`. Anything else that keeps memories (a folder, a search service,
another memory product) is mounted through an adapter of its own, which a package registers as an entry point of the
group `memoryos.adapters` (docs/explanation/mounts.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from memoryos.config import Settings
from memoryos.cube import Turn
from memoryos.kinds import Origin
from memoryos.models.embedder import Embedder
from memoryos.mount import Mount
from memoryos.operation.recall.offer import Found, Wanted


class MemoryAdapter(Protocol):
    """A mounted back end. Errors of its own become a MemoryOSError: StorageError when it does not answer."""

    def query(self, wanted: Wanted) -> Found:
        """What it has, best first, under the filters; the memory that asks ranks it beside all others."""
        ...

    def write(
        self, turns: Sequence[Turn], *, tags: Sequence[str], origin: Origin, idempotency_key: str | None
    ) -> list[str]:
        """Store a dialogue, all of it or nothing; returns the ids of its pages. Durable when it returns.

        Only called when it was mounted to be written.
        """
        ...

    def sync(self) -> None:
        """Return when what was written is found by `query`, and see what others wrote meanwhile."""
        ...

    def close(self) -> None:
        """Release the back end. Calling it twice is harmless."""
        ...


OpenAdapter = Callable[[Mount, Embedder, Settings], MemoryAdapter]  #: what the entry point names
