"""Recaller: asks the store and the mounts one owner's question, and counts the results as visited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime

from memoryos.clock import Clock
from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import Trust
from memoryos.models.embedder import Embedder
from memoryos.models.remembered import Remembered
from memoryos.models.reranker import Reranker
from memoryos.operation.consolidation.promotion import persona_scope
from memoryos.operation.maintenance.housekeeping import Housekeeping
from memoryos.operation.mounts.mounted import Mounted
from memoryos.operation.mounts.mounted_search import MountedSearch
from memoryos.operation.recall import overview
from memoryos.operation.recall.filters import EVERYWHERE, Filters
from memoryos.operation.recall.fusion import Asked, analysed
from memoryos.operation.recall.hit import Hit, Recall, Strategy
from memoryos.operation.recall.left_out import LeftOut
from memoryos.operation.recall.offer import Wanted
from memoryos.operation.recall.replaced import Replaced, replaced_in, trusted_only
from memoryos.operation.recall.search import Search
from memoryos.operation.recall.searcher import Searcher
from memoryos.operation.recall.trust import trusted
from memoryos.scope import Scope

SHORT_TURN = 6  # tokens


@dataclass(frozen=True, slots=True)
class Recaller:
    """Answers questions about the memories of one store."""

    searcher: Searcher
    mounted: Mounted
    lexicon: Embedder
    questions: Remembered
    housekeeping: Housekeeping
    settings: Settings
    clock: Clock
    reranker: Reranker | None = None  #: puts the turns that were found in its own order

    def recall(
        self, owner: Scope, text: str, search: Search, mounts: Sequence[str] | None = None, *, counts: bool = True
    ) -> Recall:
        """Return what the memory and the mounts hold for a question; `mounts` names the mounts, None means all.

        It `counts` as a visit of what it finds.
        """
        beside = self._beside(owner, _of_own(mounts) if search.filters.snapshot else mounts)
        if search.filters.tiers != EVERYWHERE or search.strategy is Strategy.TWO_STAGE:
            self.housekeeping.catch_up(owner)  # the answer depends on where the pages lie
        with self.housekeeping.call():
            recalled = beside.recall(owner, self.asked(text, search.filters), search)
            recalled = self._trusted(owner, recalled, search.least_trust)
            if counts:
                self.count(owner, recalled, search, self.clock())
        return recalled

    def count(self, owner: Scope, recalled: Recall, search: Search, at: datetime) -> None:
        """Count what a search found as visited at that time; it is written in batches, or after a while."""
        self.housekeeping.visited(owner, overview.visited(recalled), at)
        if search.filters.cold:  # what was cold comes back
            self.housekeeping.queued(owner)
        for home, facts in overview.visited_facts(recalled).items():
            self.housekeeping.visited(home, facts, at)

    def without(
        self, owner: Scope, recalled: Recall, names: frozenset[str], *, ended_by: datetime | None, least: Trust
    ) -> Recall:
        """What was found without what was derived from memories that the caller has: their ids, or their source ids.

        With `ended_by`, facts that had ended by then are told if the caller has those that replaced them.
        """
        if not names:
            return recalled
        with self._read(owner) as readers:
            left_out = LeftOut(names, readers)
            others = left_out.without(recalled)
            told = left_out.with_ended(others, ended_by, self.clock()) if ended_by else others
        return self._trusted(owner, told, least)

    def replaced(
        self, owner: Scope, recalled: Recall, names: frozenset[str], *, by: datetime, least: Trust
    ) -> list[Replaced]:
        """What the found pages tell that had given way by then, with what holds instead unless the caller has that."""
        pages = {hit.cube.id for hit in (*recalled.hits, *recalled.recent) if hit.mount is None}
        with self._read(owner) as readers:
            left_out = LeftOut(names, readers)
            told = list(replaced_in(readers, pages, by, lambda heir: not left_out.has(heir)))
            return told if least is Trust.OUTSIDE else trusted_only(told, least, readers)

    def latest(self, owner: Scope, filters: Filters, most: int, mounts: Sequence[str] | None = None) -> list[Hit]:
        """Return what passes the filters, latest first."""
        with self.housekeeping.call():
            wanted = Wanted(None, Search(Strategy.HYBRID, most, filters), most, most)
            return self._beside(owner, _of_own(mounts) if filters.snapshot else mounts).latest(owner, wanted)

    def asked(self, text: str, filters: Filters) -> Asked:
        """The analysed question; "last week" is the week before `as_of`, or before now."""
        return analysed(text, self.questions.vector, filters.as_of or self.clock())

    def pages(self, budget: int) -> int:
        """The number of pages to request, so that short turns can fill that many tokens without those of STM."""
        if most := self.settings.most_pages:
            return most + self.settings.short_term_capacity
        return max(self.settings.recall_pages, budget // SHORT_TURN)

    def visited(self, owner: Scope, ids: Iterable[str], *, at_once: bool) -> None:
        """Count visits; they are written in batches, or after a while."""
        self.housekeeping.visited(owner, ids, self.clock())
        if at_once:
            self.housekeeping.queued(owner)

    def _trusted(self, owner: Scope, recalled: Recall, least: Trust) -> Recall:
        if least is Trust.OUTSIDE:
            return recalled
        with self._read(owner) as readers:
            return trusted(recalled, least, readers)

    @contextmanager
    def _read(self, owner: Scope) -> Iterator[list[Reader]]:
        """Read what the caller may read of the owner's memory and of the user's persona."""
        homes = dict.fromkeys((owner.owner, persona_scope(owner, self.settings)))
        with ExitStack() as stack:
            readers: list[Reader] = []
            for home in homes:
                reader = self.searcher.sources.vault.view(home, readers[0] if readers else None)
                readers.append(stack.enter_context(reader))
            yield readers

    def _beside(self, owner: Scope, names: Sequence[str] | None) -> MountedSearch:
        """The owner's memory with the mounts of the search."""
        adapters = self.mounted.for_search(owner, names)
        return MountedSearch(self.searcher, adapters, self.lexicon, is_named=names is not None)


def _of_own(names: Sequence[str] | None) -> Sequence[str]:
    """No mounts: a snapshot is of the owner's own memory. Raises InvalidInput if the caller names some."""
    if names:
        raise InvalidInput("mounts", "have no snapshots", "Leave them out, or pass a moment as `as_of`")
    return ()
