"""Relabelled: a stored memory with another access, more sensitivity or another end; its words stay.

What the memory took in when equal ones were merged gets the same. What was learned from a page ends with it; it is as
sensitive and as private as its pages anyway, because a read asks for their labels, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.about import About, about_of
from memoryos.caller import SYSTEM, Action, acting
from memoryos.cube import MemCube, ends_earlier, is_opened
from memoryos.errors import ChangedMeanwhile, InvalidInput, NotFound
from memoryos.infrastructure.vault.built_cubes import undeletable
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import MADE_OF_MEMORIES, AccessMode, Kind, Origin
from memoryos.operation.calls.permission import check_end, check_new, check_opened, check_stored
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.kept_versions import unexpired
from memoryos.operation.correction.merging import taken_in
from memoryos.operation.correction.protectors import refuse_protected
from memoryos.operation.correction.rederive import ReadCubes, derived_from
from memoryos.operation.correction.remaining_pages import RemainingPages
from memoryos.operation.correction.revised import check_version, next_version, refuse_absorbed
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.knowledge.page_ends import ending_at, last_end
from memoryos.operation.scheduler.step import Step, some_at_a_time, take
from memoryos.scope import Scope

_LEARNED = (Origin.INFERENCE, Origin.FINETUNING)  # of facts, traits and fields that nobody stated


@dataclass(frozen=True, slots=True)
class NewLabels:
    """What is said of a memory now, beside its words."""

    about: About  #: its sensitivity joins that of the memory, its access and end take the place of those
    is_endless: bool = False  #: whether the memory has no end any more
    is_for_copy: bool = False  #: whether a copy in a branch gets what is stricter, and nothing else

    @property
    def changes_end(self) -> bool:
        """Whether the memory gets another end, or none."""
        return self.is_endless or self.about.expires_at is not None

    @property
    def for_copy(self) -> NewLabels:
        """What of them a copy in a branch gets."""
        return replace(self, is_for_copy=True)

    @property
    def may_restrict(self) -> bool:
        """Whether others may see less of the memory, or for a shorter time."""
        return bool(
            self.about.sensitivity or self.about.expires_at or self.about.access not in (None, AccessMode.SHARED)
        )

    def of(self, cube: MemCube) -> MemCube:
        """The memory with these labels. Raises InvalidInput if it would have too many."""
        about = replace(self.about, access=self._access(cube), expires_at=None)
        told, end = about.add_to(cube, is_told=not self.is_for_copy), self._end(cube)
        lifespan = told.governance.lifespan
        if lifespan.own_end == end:
            return told
        lifespan = replace(lifespan, expires_at=end, rule=None)
        return replace(told, governance=replace(told.governance, lifespan=lifespan))

    def _access(self, cube: MemCube) -> AccessMode | None:
        known, new = cube.governance.access.mode, self.about.access
        return min(known, new, key=lambda mode: mode.openness) if new and self.is_for_copy else new

    def _end(self, cube: MemCube) -> datetime | None:
        known, new = cube.governance.lifespan.own_end, self.about.expires_at
        if self.is_for_copy:
            return min(filter(None, (known, new)), default=None)
        return None if self.is_endless else new or known


@dataclass(frozen=True, slots=True)
class Relabelling:
    """Other labels of one memory."""

    corrector: Corrector
    cube_id: str
    labels: NewLabels
    expected: int | None = None  #: the number that the stored version must have; None: any
    detail: str | None = None  #: of the event

    def check(self) -> None:
        """Raise what the change would.

        That is NotFound, InvalidInput, StaleVersion, PermissionDenied, CubeProtected, OnHold.
        """
        cube, home = self.corrector.find(self.cube_id, Action.WRITE)
        self.corrector.refuse_frozen([self.cube_id] if cube.kind is Kind.PAGE else [], [self.cube_id])
        with self._vault.read(home, Action.WRITE) as reader:
            before = self._present(reader)
            self._check_rights(home, reader, before, self.labels.of(before))

    def write(self, are_copies_done: Callable[[], bool] = lambda: True) -> MemCube:
        """Store the labels in one step, and return the memory.

        Raises ChangedMeanwhile unless the copies in branches have got what is stricter, and what `check` raises.
        """
        home = self.corrector.find(self.cube_id, Action.WRITE)[1]
        take(self._vault, home, lambda reader: self._planned(home, reader, are_copies_done))
        if self.labels.changes_end and self.corrector.shares_persona and home != self.corrector.persona:
            acting(SYSTEM, self._follow_in_persona)
        with self._vault.read(home, Action.WRITE) as reader:  # whoever changed it may not read it any more
            if (cube := reader.one(self.cube_id)) is None:
                raise NotFound(f"there is no memory {self.cube_id!r} of this user and agent")
            return cube

    @property
    def _vault(self) -> Vault:
        return self.corrector.promoter.vault

    @property
    def _now(self) -> datetime:
        return self.corrector.promoter.clock()

    def _planned(self, home: Scope, reader: Reader, are_copies_done: Callable[[], bool]) -> Step:
        before, changes = self._present(reader), Changes(reader)
        ids = [before.id, *taken_in(reader, [before.id])]
        pages = [one for one in ids if before.kind is Kind.PAGE]
        segments = [link.target for link in reader.targets(pages, LinkKind.MEMBER_OF)]
        reached = refuse_protected(reader, pages, segments, ids)
        for one in changes.get(ids):
            later = next_version(one, self.labels.of(one), self._now)
            if later != one:
                changes.revise(Entry(later), self.detail)
        evidence = RemainingPages(lambda some: {cube.id: cube for cube in changes.get(some)}, ())
        derived = derived_from(reader, pages) if self.labels.changes_end else []
        read = _follow_ends(changes, derived, evidence)
        held = reader.retention.held(reached)

        def write(writer: Writer) -> None:
            if not changes.touched:
                return
            self._check_rights(home, writer, before, self.labels.of(before))  # policies may be others since
            if not are_copies_done():
                raise ChangedMeanwhile
            changes.flush(writer)

        def holds(writer: Writer) -> bool:
            return [before.id, *taken_in(writer, [before.id])] == ids and writer.retention.held(reached) == held

        return Step(write, {*ids, *read, *changes.touched}, holds=holds)

    def _present(self, reader: Reader) -> MemCube:
        """The memory, if its labels may be changed. Raises NotFound, InvalidInput, StaleVersion, CubeProtected."""
        cube = reader.one(self.cube_id)
        if cube is None:
            raise NotFound(f"there is no memory {self.cube_id!r} of this user and agent")
        unexpired(cube, self._now)
        if not self.labels.is_for_copy:
            _refuse_derived(cube)
            refuse_absorbed(reader, cube)
            check_version(cube, self.expected)
        return cube

    def _check_rights(self, home: Scope, reader: Reader, before: MemCube, after: MemCube) -> None:
        """Raise PermissionDenied unless the caller may change the memory as it is, and store it as it will be."""
        check_stored(self._vault, home, reader, [before.id], Action.READ)
        check_stored(self._vault, home, reader, [before.id], Action.WRITE)
        check_new(self._vault, home, after.kind, about_of(after).labels)
        check_opened(self._vault, home, reader, [before.id] if is_opened(before, after) else [])
        check_end(self._vault, home, reader, [before.id] if ends_earlier(before, after) else [])

    def _follow_in_persona(self) -> None:
        """Let what other agents of the user share, and was learned from the page, end with its pages."""
        persona = self.corrector.persona
        with self._vault.read(persona) as reader:
            derived = derived_from(reader, [self.cube_id, *self.corrector.absorbed([self.cube_id])])
        for some in some_at_a_time(derived):
            take(self._vault, persona, lambda reader, some=some: self._ends_in_persona(reader, some))  # type: ignore[misc]

    def _ends_in_persona(self, reader: Reader, derived: Sequence[str]) -> Step:
        changes, evidence = Changes(reader), RemainingPages(self.corrector.of_all_agents, ())
        kept = undeletable(reader, derived)  # a hold, or a freeze, that came after the page got its end
        _follow_ends(changes, [one for one in derived if one not in kept], evidence)
        holds = lambda writer: evidence.is_as_it_was and undeletable(writer, derived) == kept  # noqa: E731
        return Step(changes.flush, changes.touched, holds=holds)


def _follow_ends(changes: Changes, derived: Sequence[str], read: ReadCubes) -> set[str]:
    """Let these memories end with the pages that they rest on; returns the pages that decided it."""
    known = changes.get(derived)
    pages: Mapping[str, MemCube] = read({page for cube in known for page in cube.descriptive.provenance})
    for cube in known:
        later = ending_at(cube, last_end(pages[one] for one in cube.descriptive.provenance if one in pages))
        if later != cube:
            changes.change(Entry(later), Operation.REFRESH)
    return set(pages)


def _refuse_derived(cube: MemCube) -> None:
    """Raise InvalidInput for a memory that was derived from others: it has their labels, and ends with them."""
    is_built = cube.kind in (*MADE_OF_MEMORIES, Kind.SEGMENT)
    if is_built or (cube.kind is not Kind.PAGE and cube.descriptive.origin in _LEARNED):
        raise InvalidInput(
            "memory_id",
            f"names a {cube.kind.value} derived from other memories: its access, sensitivity and end follow theirs",
            "Relabel these; `governance.provenance` names them",
        )
