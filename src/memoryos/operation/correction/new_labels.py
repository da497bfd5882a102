"""New labels: what is said of a stored memory beside its words, and what follows from it for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.about import About
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.kinds import AccessMode, Kind
from memoryos.operation.correction.rederive import derived_from
from memoryos.operation.correction.revised import next_version
from memoryos.operation.knowledge.page_ends import ending_at, last_end

Pair = tuple[MemCube, MemCube]  # a memory as it is, and as it will be


@dataclass(frozen=True, slots=True)
class NewLabels:
    """What is said of a memory now, beside its words."""

    about: About  #: its sensitivity joins that of the memory, its access and end take the place of those
    is_endless: bool = False  #: whether the memory has no end any more
    is_strict: bool = False  #: whether a memory gets what is stricter, and nothing else
    keeps_access: bool = False  #: whether so it is with the access alone
    is_told: bool = True  #: whether a caller says it of this memory, so that it must not have too many labels

    @property
    def changes_end(self) -> bool:
        """Whether the memory gets another end, or none."""
        return self.is_endless or self.about.expires_at is not None

    @property
    def for_copy(self) -> NewLabels:
        """What of them a copy in a branch gets: what is stricter."""
        return replace(self, is_strict=True, is_told=False)

    @property
    def may_restrict(self) -> bool:
        """Whether others may see less of the memory, or for a shorter time."""
        return bool(
            self.about.sensitivity or self.about.expires_at or self.about.access not in (None, AccessMode.SHARED)
        )

    def of(self, cube: MemCube) -> MemCube:
        """The memory with these labels. Raises InvalidInput if it would have too many."""
        about = replace(self.about, access=self._access(cube), expires_at=None)
        told, end = about.add_to(cube, is_told=self.is_told), self._end(cube)
        lifespan = told.governance.lifespan
        if lifespan.own_end == end:
            return told
        lifespan = replace(lifespan, expires_at=end, rule=None)
        return replace(told, governance=replace(told.governance, lifespan=lifespan))

    def following(self, memory: MemCube) -> NewLabels:
        """What another memory gets that this one took in, when it is as it is: it is never more open."""
        known, end = memory.governance, memory.governance.lifespan.own_end if self.changes_end else None
        about = About(memory.descriptive.tags, sensitivity=known.sensitivity, access=known.access.mode, expires_at=end)
        opens = self.about.access is not None  # else one that is stricter stays so
        return replace(
            self, about=about, is_endless=self.changes_end and end is None, is_told=False, keeps_access=not opens
        )

    def _access(self, cube: MemCube) -> AccessMode | None:
        known, new = cube.governance.access.mode, self.about.access
        is_stricter = self.is_strict or self.keeps_access
        return min(known, new, key=lambda mode: mode.openness) if new and is_stricter else new

    def _end(self, cube: MemCube) -> datetime | None:
        known, new = cube.governance.lifespan.own_end, self.about.expires_at
        if self.is_strict:
            return min(filter(None, (known, new)), default=None)
        return None if self.is_endless else new or known


@dataclass(frozen=True, slots=True)
class Relabelled:
    """A memory with other labels, and what changes with it: what it took in, and what was learned from it."""

    memory: Pair
    labels: NewLabels
    taken: Sequence[str]  #: the ids of what it took in
    now: datetime

    @property
    def ids(self) -> list[str]:
        """The ids of the memory and of all that it took in."""
        return [self.memory[0].id, *self.taken]

    def pages_of(self, ids: Sequence[str]) -> Sequence[str]:
        """Those of its ids that name pages: a memory takes in others of its kind."""
        return ids if self.memory[0].kind is Kind.PAGE else ()

    def absorbed(self, reader: Reader, some: Sequence[str], *, strictly: bool = False) -> list[Pair]:
        """Those of some that it took in that change; strictly, with nothing but what is stricter for them."""
        told = self.labels.following(self.memory[1])
        told = told.for_copy if strictly else told
        return _changed([(one, next_version(one, told.of(one), self.now)) for one in reader.get(some).values()])

    def learned_from(self, reader: Reader) -> list[str]:
        """The ids of what rests on its pages, if that gets another end with them."""
        return derived_from(reader, self.pages_of(self.ids)) if self.labels.changes_end else []

    def learned(
        self, reader: Reader, some: Sequence[str], changed: Sequence[Pair] = ()
    ) -> tuple[list[Pair], frozenset[str]]:
        """Those of some memories that end otherwise, if these are changed with them, and the pages that decide it."""
        known = list(reader.get(some).values())
        pages = {one.id: one for _, one in changed}
        resting = {page for cube in known for page in cube.descriptive.provenance}
        evidence = {**reader.get(resting.difference(pages)), **pages}
        return _changed([(cube, ending_at(cube, _end(cube, evidence))) for cube in known]), frozenset(resting)


def _end(cube: MemCube, pages: Mapping[str, MemCube]) -> datetime | None:
    """When the last page of a memory ends; never, if one of them lies elsewhere: it says nothing of its end here."""
    rests_on = cube.descriptive.provenance
    return last_end(pages[one] for one in rests_on) if pages.keys() >= set(rests_on) else None


def _changed(pairs: Sequence[Pair]) -> list[Pair]:
    return [(before, after) for before, after in pairs if before != after]
