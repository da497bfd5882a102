"""StoreAdapter: a mounted MemoryOS store, or another scope of the same store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memoryos.about import About
from memoryos.cube import Turn
from memoryos.kinds import Origin
from memoryos.operation.intake.page_writer import Arriving, Intake
from memoryos.operation.recall.offer import Found, Wanted
from memoryos.operation.recall.searcher import Searcher
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class StoreAdapter:
    """One owner's memory in a store; `intake`, `wait` and `release` are that store's."""

    searcher: Searcher
    scope: Scope
    intake: Intake
    wait: Callable[[], None] | None = None  #: None: who asks waits for this store anyway, and closes it
    release: Callable[[], None] | None = None

    def query(self, wanted: Wanted) -> Found:
        """Return what the owner's tiers hold."""
        if wanted.asked is None:
            return self.searcher.latest(self.scope, wanted)
        search = wanted.of_each
        if self.release:  # another store's cold pages lie in an object store that is not known here
            search = replace(search, filters=replace(search.filters, cold=False))
        return self.searcher.offer(self.scope, wanted.asked, search)[1]

    def write(
        self, turns: Sequence[Turn], *, tags: Sequence[str], origin: Origin, idempotency_key: str | None
    ) -> list[str]:
        """Store a dialogue."""
        arriving = Arriving(turns, self.intake.clock(), About(tuple(tags)), origin, idempotency_key)
        return self.intake.store(self.scope, arriving)

    def sync(self) -> None:
        """Wait for the background work of the writes; each query sees what others wrote."""
        if self.wait:
            self.wait()

    def close(self) -> None:
        """Release the store, unless it is the same store."""
        if self.release:
            self.release()
