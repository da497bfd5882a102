"""Adapters: the contract of a mounted back end (MemOS paper, section 5.5.2).

A MemoryOS store is mounted through `StoreAdapter`. Other memories (a folder, a search service, another product) need an
adapter of their own, which a package registers as an entry point of the group `memoryos.adapters`
(docs/explanation/mounts.md).
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
    """A mounted back end. It raises a MemoryOSError in place of its own errors: StorageError if it does not answer."""

    def query(self, wanted: Wanted) -> Found:
        """Return what passes the filters, best first; the searching memory ranks it with all other results."""
        ...

    def write(
        self, turns: Sequence[Turn], *, tags: Sequence[str], origin: Origin, idempotency_key: str | None
    ) -> list[str]:
        """Store a dialogue, all of it or nothing, and return the ids of its pages. It is durable on return.

        This is called only if the mount is writable.
        """
        ...

    def sync(self) -> None:
        """Wait until `query` finds what was written, and take in what others wrote."""
        ...

    def close(self) -> None:
        """Release the back end. A second call does nothing."""
        ...


OpenAdapter = Callable[[Mount, Embedder, Settings], MemoryAdapter]  #: what the entry point names
