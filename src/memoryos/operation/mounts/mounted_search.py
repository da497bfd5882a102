"""Mounted search: one question to the owner's memory and to the mounted ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace

from memoryos.errors import PermissionDenied, StorageError
from memoryos.kinds import Kind
from memoryos.models.embedder import Embedder
from memoryos.operation.mounts.adapter import MemoryAdapter
from memoryos.operation.mounts.fused import Offers, fused
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import Hit, Recall, Strategy
from memoryos.operation.recall.offer import Found, Wanted
from memoryos.operation.recall.search import Search
from memoryos.operation.recall.searcher import Searcher
from memoryos.scope import Scope

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MountedSearch:
    """The owner's searcher, and the mounts for one question."""

    searcher: Searcher
    adapters: Mapping[str, MemoryAdapter]
    lexicon: Embedder
    is_named: bool  #: whether the caller named the mounts: then each must answer

    def recall(self, owner: Scope, asked: Asked, search: Search) -> Recall:
        """Return what all of them hold for the question, ranked as one memory."""
        if not self.adapters:
            return self.searcher.recall(owner, asked, search)
        settings = self.searcher.settings
        wanted = Wanted(asked, search, search.pages or settings.recall_pages, search.facts_under(settings))
        own, offer = self.searcher.offer(owner, asked, wanted.of_each)
        if search.strategy is Strategy.TWO_STAGE:  # how many it finds is its own affair
            wanted = replace(wanted, pages=max(wanted.pages, len(own.hits)))
        offers, missing = self._offers(offer, wanted)
        together = fused(own, offers, asked, wanted, self.lexicon)
        return replace(together, missing=tuple(missing))

    def latest(self, owner: Scope, wanted: Wanted) -> list[Hit]:
        """Return what passes the filters in any of them, latest first; a page in several memories comes once."""
        offers, _ = self._offers(self.searcher.latest(owner, wanted), wanted)
        hits: dict[str, Hit] = {}
        for name, here in offers.items():
            pages = [Hit(cube, 0.0) for cube in here.pages.values() if wanted.filters.admits(cube)]
            facts = here.facts if name is None else [fact for fact in here.facts if fact.cube.kind is Kind.FACT]
            for hit in (*pages, *facts):
                hits.setdefault(hit.id, replace(hit, mount=name))
        return sorted(hits.values(), key=lambda hit: hit.at, reverse=True)[: wanted.pages]

    def _offers(self, own: Found, wanted: Wanted) -> tuple[Offers, list[str]]:
        """The offers of all, and the names of mounts that did not answer.

        The owner's memory answers even if a mount is unreachable or the caller may not read it, but a mount that the
        call names must answer.
        """
        offers: dict[str | None, Found] = {None: own}
        missing: list[str] = []
        for name, adapter in self.adapters.items():
            try:
                offers[name] = adapter.query(wanted)
            except (StorageError, PermissionDenied) as error:
                if self.is_named:
                    raise
                told = {"action": "search", "mount": name, "error": type(error).__name__}
                logger.warning("mount %(mount)s put off: %(error)s", told, extra=told)
                missing.append(name)
        return offers, missing
