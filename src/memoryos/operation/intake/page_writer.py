"""Intake: stores checked turns as pages, all of them or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.about import NOTHING, About
from memoryos.clock import Clock
from memoryos.cube import MemCube, Page, Turn
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Kind, Origin
from memoryos.models.embedder import Embedder
from memoryos.operation.attachments.parcels import check_named, taken_out, with_parcels
from memoryos.operation.calls.permission import check_new
from memoryos.operation.intake import ingest
from memoryos.operation.intake.arrival import Arrival
from memoryos.operation.maintenance.housekeeping import Housekeeping
from memoryos.privacy.protection import UNPROTECTED, Protection
from memoryos.progress import Progress
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Arriving:
    """The turns of one call, with the details that apply to all of them."""

    turns: Sequence[Turn]
    now: datetime
    about: About = NOTHING
    origin: Origin = Origin.USER_INPUT
    key: str | None = None  #: names the call, so that it can be repeated
    fields: Sequence[str] = ()  #: the arguments with the turns, for errors; else they are counted


@dataclass(frozen=True, slots=True)
class Intake:
    """Stores turns in one store."""

    vault: Vault
    embedder: Embedder
    housekeeping: Housekeeping
    clock: Clock
    max_attachment_bytes: int
    protection: Protection = UNPROTECTED

    def store(self, owner: Scope, arriving: Arriving, progress: Progress | None = None) -> list[str]:
        """Store the turns and return the ids of their pages. Raises PermissionDenied."""
        check_new(self.vault, owner, Kind.PAGE, arriving.about.labels)
        turns, parcels = taken_out(arriving.turns, self.max_attachment_bytes)
        lightened = replace(arriving, turns=turns) if parcels else arriving
        if parcels:
            parcels = self.protection.for_owner(owner).value("attachments", parcels)  # their media types
        arrival = Arrival(self.vault, owner, self._pages(owner, lightened), arriving.key)
        with self.housekeeping.call():
            if (known := arrival.known()) is not None:
                return known
            check_named(self.vault, owner, turns, parcels)
            entries = ingest.embedded(arrival.pages, self.embedder, progress)
            ids = with_parcels(self.vault, owner, parcels, self.clock, lambda: arrival.store(entries))
        self.housekeeping.written(owner)
        return ids

    def entries(self, owner: Scope, arriving: Arriving) -> list[Entry]:
        """The pages of turns without attachments, ready to be stored with other changes. Raises PermissionDenied."""
        check_new(self.vault, owner, Kind.PAGE, arriving.about.labels)
        return [entry.prepared for entry in ingest.embedded(self._pages(owner, arriving), self.embedder, None)]

    def _pages(self, owner: Scope, arriving: Arriving) -> list[MemCube]:
        privacy = self.protection.for_owner(owner)
        if privacy.is_off:
            return [_cube(page, owner, arriving, arriving.about) for page in ingest.paginate(arriving.turns)]
        named = arriving.fields or [f"turns[{number}]" for number in range(len(arriving.turns))]
        turns = [privacy.value(name, turn) for name, turn in zip(named, arriving.turns, strict=True)]
        about = privacy.value("", arriving.about)
        pages = ingest.paginate(turns)
        return [_cube(page, owner, arriving, about.tagged(privacy.tags(page, about))) for page in pages]


def _cube(page: Page, owner: Scope, arriving: Arriving, about: About) -> MemCube:
    return ingest.page_cube(page, owner, now=arriving.now, origin=arriving.origin, about=about)
