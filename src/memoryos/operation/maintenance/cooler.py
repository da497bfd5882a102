"""Cooler: moves archived pages that are not visited into an object store, and back when they are.

Out: the pack is recorded, written under its final name, read back and checked; then one transaction replaces its
documents by references. Back: the pack is read and checked, and one transaction puts the documents back. A sweep, which
can be repeated, removes packs that are not in use. So a document is always in the store or in a checked pack.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from memoryos.bounded import Bounded
from memoryos.clock import Clock
from memoryos.config import Settings
from memoryos.cube import from_json
from memoryos.errors import InvalidInput, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.cold.pack import Pack
from memoryos.infrastructure.vault.cold_part import may_be_used
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Archived
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE
from memoryos.plain import Plain
from memoryos.scope import Scope

PACK_PAGES = 64
DRAFT = timedelta(hours=1)  # that a pack may take from its note until it is in use
LOOK_EVERY = timedelta(hours=1)  # for pages that have grown cold

GoesOn = Callable[[], bool]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Cooled(Plain):
    """Counts of what was moved."""

    pages: int = 0  #: pages moved into the object store
    packs: int = 0  #: packs written
    removed: int = 0  #: unused packs removed

    def __add__(self, other: Cooled) -> Cooled:
        return Cooled(self.pages + other.pages, self.packs + other.packs, self.removed + other.removed)


class DiscardedDrafts(NamedTuple):
    """Packs that are discarded before they are in use."""

    removed: int = 0
    coming: int = 0  #: that are not there to be removed


@dataclass
class Cooler:
    """Moves the archived pages of one store."""

    vault: Vault
    settings: Settings
    clock: Clock

    def __post_init__(self) -> None:
        self._looked = Bounded[Scope, datetime]()

    def cool(self, owner: Scope, after_days: float, goes_on: GoesOn = lambda: True) -> Cooled:
        """Move out pages without a visit for that long. Raises ObjectsUnreachable; pages moved before that stay out."""
        done = Cooled()
        for documents in self._due(owner, self.clock() - timedelta(days=after_days)):
            if not goes_on():
                break
            done += self._moved_out(owner, documents)
        return done

    def bring_back(self, owner: Scope, ids: Iterable[str]) -> set[str]:
        """Bring back pages from packs, with the others in these packs; return those that cannot be read."""
        wanted = list(ids)
        if not wanted:
            return set()
        with self.vault.read(owner) as reader:
            cold = reader.cold(wanted)
        return {page for name in sorted(set(cold.values())) for page in self._left_out(owner, name, cold)}

    def sweep(self, owner: Scope) -> int:
        """Remove the owner's unused packs and return how many. Raises ObjectsUnreachable."""
        now = self.clock()
        with self.vault.read(owner) as reader:
            if not any(at is not None and at <= now for at in reader.packs().values()):
                return 0
        with self.vault.write(owner) as writer:
            names = writer.claim_packs()
        for name in names:
            self.vault.packs.remove(name)
        with self.vault.write(owner) as writer:
            writer.forget_packs(names)
        return len(names)

    def discard_drafts(self, owner: Scope) -> DiscardedDrafts:
        """Remove the packs that are being written, or that a process left which died: what was erased may be in them.

        Of those that are not there to be removed, the bytes may still come. Whoever writes them removes them again, or
        a sweep within the hour.
        """
        with self.vault.read(owner) as reader:
            if not any(reader.packs().values()):
                return DiscardedDrafts()
        with self.vault.write(owner) as writer:
            names = writer.claim_packs(drafts=True)
        removed = [name for name in names if self._removed(name)]
        with self.vault.write(owner) as writer:
            writer.forget_packs(removed)
        return DiscardedDrafts(len(removed), len(names) - len(removed))

    def tend(self, owner: Scope, goes_on: GoesOn) -> float | None:
        """Do the automatic moves that are due for an owner; return the seconds until the next removal of a pack."""
        if not self.vault.packs.are_kept:
            return None
        after, now = self.settings.cold_after_days, self.clock()
        if after is not None and now - self._looked.get(owner, now - LOOK_EVERY) >= LOOK_EVERY:
            self._looked[owner] = now
            self.cool(owner, after, goes_on)
        self.sweep(owner)
        with self.vault.read(owner) as reader:
            moments = [at for at in reader.packs().values() if at is not None]
        return (min(moments) - self.clock()).total_seconds() if moments else None

    def _due(self, owner: Scope, before: datetime) -> Iterator[dict[str, str]]:
        """The documents of pages without a visit since then, in batches: a pack goes out and comes back in one step."""
        batch = dict[str, str]()
        for page in self._archived(owner):
            if not page.document or _last_use(page.document) > before:
                continue
            chars = len(page.document) + sum(map(len, batch.values()))
            if batch and (len(batch) == PACK_PAGES or chars > CHARS_AT_ONCE):
                yield batch
                batch = {}
            batch[page.id] = page.document
        if batch:
            yield batch

    def _archived(self, owner: Scope) -> Iterator[Archived]:
        after = 0
        while True:
            with self.vault.read(owner) as reader:
                pages = reader.archived(after=after, limit=PACK_PAGES)
            yield from pages
            if len(pages) < PACK_PAGES:
                return
            after = pages[-1].position

    def _moved_out(self, owner: Scope, documents: dict[str, str]) -> Cooled:
        pack = Pack.of(documents)
        with self.vault.write(owner) as writer:
            if not writer.begin_pack(pack, remove_at=self.clock() + DRAFT):
                return Cooled()
        if self._is_put(owner, pack):
            with self.vault.write(owner) as writer:
                if writer.cool(pack):  # not when a page was visited or deleted meanwhile: next time, then
                    return Cooled(pages=len(documents), packs=1)
        self.vault.packs.remove(pack.name)  # what was deleted may be in it
        with self.vault.write(owner) as writer:
            writer.forget_packs([pack.name])
        return Cooled()

    def _is_put(self, owner: Scope, pack: Pack) -> bool:
        """Put a pack; whether nobody removed it meanwhile. Raises StoreCorrupt, ObjectsUnreachable."""
        try:
            self.vault.packs.put(pack)
        except (StoreCorrupt, ObjectsUnreachable):  # of a folder, what is being written can be removed, too
            with self.vault.read(owner) as reader:
                if may_be_used(reader, pack.name):
                    raise
            return False
        return True

    def _removed(self, name: str) -> bool:
        """Remove a pack; whether it was there, and is gone."""
        try:
            was_there = self.vault.packs.is_there(name)
            self.vault.packs.remove(name)
        except ObjectsUnreachable:
            return False
        return was_there

    def _left_out(self, owner: Scope, name: str, cold: dict[str, str]) -> list[str]:
        try:
            self.vault.packs.read(name)  # before anybody has to wait for us
            with self.vault.write(owner) as writer:
                writer.warm(name)
        except (ObjectsUnreachable, StoreCorrupt) as error:
            logger.warning(
                "pack not brought back: %s",
                type(error).__name__,
                extra={"action": "cold", "error": type(error).__name__},
            )
            return [page for page, pack in cold.items() if pack == name]
        return []


def _last_use(document: str) -> datetime:
    try:
        cube = from_json(document)
    except InvalidInput:
        raise StoreCorrupt("a stored memory cannot be read: run `memoryos verify`, or restore from a backup") from None
    return max(cube.behaviour.last_access, cube.descriptive.updated_at)
