"""Sources: where owners' memories are read, following the store.

What a search needs of an owner is in memory. If the turns alone exceed the memory budget, they move to the candidate
index, if the store has one. Then memory holds only the other cubes, and a search loads the turns it needs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from memoryos.caller import SYSTEM, acting
from memoryos.errors import IndexFailed, StorageError
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Operation
from memoryos.infrastructure.vault.rows import batches
from memoryos.models.embedder import Embedder
from memoryos.operation.hierarchy.page_entries import page_entries
from memoryos.operation.index.follower import Follower
from memoryos.operation.index.residency import Residency
from memoryos.operation.index.resident import Resident
from memoryos.operation.recall.excerpt import excerpt
from memoryos.operation.recall.filters import Classes, Filters
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import Strategy
from memoryos.operation.recall.search import Search, Source
from memoryos.operation.scheduler.background import Background
from memoryos.operation.scheduler.step import Step, take
from memoryos.scope import Scope

T = TypeVar("T")

AT_A_TIME = 64  # pages indexed anew in one transaction

logger = logging.getLogger(__name__)


@dataclass
class Sources:
    """The sources of one store."""

    vault: Vault
    embedder: Embedder
    residency: Residency
    follower: Follower | None = None  #: follows the log for the candidate index, if there is one
    _moving: set[Scope] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._background = Background("candidates")

    @contextmanager
    def of(self, owner: Scope, beside: Reader | None = None) -> Iterator[Source]:
        """The owner's memory with all turns, in the snapshot of the reader `beside` it if there is one."""
        with self.vault.view(owner, beside) as reader:
            resident = self.residency.following(owner, reader.whole, whole=True)
            self._note_size(owner, resident)
            unindexed = self._outdated(resident)
            if not unindexed:
                yield self._source(owner, reader, resident)
                return
        self._index(owner, unindexed)
        with self.vault.view(owner) as reader:
            resident = self.residency.following(owner, reader.whole, whole=True)
            yield self._source(owner, reader, resident)

    @contextmanager
    def then(self, owner: Scope, filters: Filters) -> Iterator[Source]:
        """The same, as the store held it at the snapshot of the filters, if there is one."""
        with self.of(owner) as source:
            yield source.looking_back(filters, self.embedder)

    def answer(self, owner: Scope, asked: Asked, search: Search, pages: int, find: Callable[[Source], T]) -> T:
        """Call `find` with the owner's memory, with at least the turns that a search for that many pages needs.

        If the candidate index fails, even during the search, all turns are loaded into memory instead.
        """
        follower = self.follower
        is_now = search.filters.snapshot is None  # the index has the present words
        if is_now and follower is not None and search.strategy is not Strategy.TWO_STAGE and follower.may_have(owner):
            try:
                with self._excerpt(follower, owner, asked, search, pages) as source:
                    stale = self._outdated(source.resident) if source else ()
                    if source and not stale:
                        return find(source)
                if stale:
                    self._index(owner, stale)
                    return self.answer(owner, asked, search, pages, find)
            except IndexFailed as error:
                follower.put_off(error)
        with self.of(owner) as source:
            return find(source)

    @contextmanager
    def _excerpt(
        self, follower: Follower, owner: Scope, asked: Asked, search: Search, pages: int
    ) -> Iterator[Source | None]:
        """The owner's memory with the candidates of a question; None without a candidate index."""
        with self.vault.view(owner) as reader:
            if not follower.follow(owner, reader.whole):
                yield None
                return
            with follower.asking(owner) as candidates:
                turns = excerpt(candidates, reader.whole, asked, search.filters, pages)
                resident = self.residency.following(owner, reader.whole, whole=False).having(turns)
                yield self._source(owner, reader, resident)

    def follow_erasure(self, owner: Scope) -> None:
        """Remove deleted turns from the owner's candidate index at once; an unreachable index does it later."""
        follower = self.follower
        if follower is None or not follower.may_have(owner):
            return
        try:
            with self.vault.read(owner) as reader:
                follower.follow(owner, reader)
        except IndexFailed as error:
            follower.put_off(error)

    def let_go(self, owner: Scope) -> None:
        """Let what the owner's memory lost leave this process, too."""
        acting(SYSTEM, lambda: self.residency.follow_erasure(owner, self.vault.read))

    def forget(self, owner: Scope) -> None:
        """Remove the owner from memory and from the candidate index; an unreachable index does it later."""
        self.residency.forget(owner)
        if self.follower is not None:
            try:
                self.follower.forget(owner)
            except IndexFailed as error:
                self.follower.put_off(error)

    def move_out(self, owner: Scope) -> bool:
        """Move the owner's turns to the candidate index, whatever their size; False if there is none."""
        if self.follower is None:
            return False
        with self.vault.read(owner) as reader:
            self.follower.build(owner, reader)
        self.residency.forget(owner)
        return True

    def wait(self) -> None:
        """Wait until no turns are being moved. Raises the first error of a move."""
        self._background.wait()

    def close(self) -> None:
        """Finish and release the candidate index."""
        try:
            self._background.close()
        finally:
            if self.follower is not None:
                self.follower.close()

    def _source(self, owner: Scope, reader: Reader, resident: Resident) -> Source:
        """What the caller may read; a caller who may read everything gets the resident itself."""
        if reader.view is None:
            return Source(reader, resident)
        classes = Classes(reader.view, owner.owner)
        return Source(reader, resident.seen(classes), classes)

    def _outdated(self, resident: Resident) -> Sequence[str]:
        """The pages that must be indexed before a search."""
        return () if self.vault.is_only_read else resident.unindexed

    def _note_size(self, owner: Scope, resident: Resident) -> None:
        """Start moving turns that are too many for memory, once."""
        follower = self.follower
        if follower is None or resident.nbytes <= self.residency.budget or owner in self._moving or follower.is_away:
            return
        self._moving.add(owner)
        if not follower.has(owner):
            self._background.submit(lambda: self._move(owner, follower))

    def _move(self, owner: Scope, follower: Follower) -> None:
        try:
            self.move_out(owner)
        except IndexFailed as error:  # it may be available again later
            follower.put_off(error)
            self._moving.discard(owner)
        except StorageError as error:  # then they stay in memory, even above the budget
            logger.warning(
                "index put off: %s", type(error).__name__, extra={"action": "index", "error": type(error).__name__}
            )

    def _index(self, owner: Scope, pages: Sequence[str]) -> None:
        """Make the passages of pages that an older program stored without passages, or with long turns as one."""
        for some in batches(pages, AT_A_TIME):
            take(self.vault, owner, partial(self._indexed, some))

    def _indexed(self, pages: Sequence[str], reader: Reader) -> Step:
        entries = [entry.prepared for entry in page_entries(list(reader.get(pages).values()), self.embedder)]
        return Step(lambda writer: writer.update(entries, Operation.REFRESH), pages)
