"""ViewedReader: a snapshot of one owner with only the cubes that the caller may read.

A cube that was derived from pages (a fact, a trait, a segment) can be read if it and all these pages can. What a page
itself says of others, the summary of its chain, is left out. Passages, facets and vectors are not words that anybody
gets to see; they are for the ranking, and are not filtered here.

There are no segments: which pages lie together, and which left STM when, was decided by all pages, so it would tell of
those that the caller may not read. For the same reason there are no jobs of the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, func, select

from memoryos.caller import View
from memoryos.clock import Clock
from memoryos.cube import MemCube, Trait
from memoryos.infrastructure.vault import queries, tables
from memoryos.infrastructure.vault.authors import Author, is_reasoned, without_reason
from memoryos.infrastructure.vault.cube_documents import earlier_cube
from memoryos.infrastructure.vault.records import (
    CHANGES_NO_CLASS,
    Census,
    CubeClass,
    CubePlace,
    Event,
    Job,
    JobKind,
    JobState,
    Link,
    LinkKind,
    alone,
    labels_text,
)
from memoryos.infrastructure.vault.selection import Selection
from memoryos.infrastructure.vault.selection_part import SelectionPart
from memoryos.infrastructure.vault.session import SqlReader
from memoryos.infrastructure.vault.version_part import VersionPart
from memoryos.kinds import Kind, State, Subject, Tier
from memoryos.label_change import LabelChange
from memoryos.lifecycle import CubeMark, Transition
from memoryos.scope import Scope

_STATED = (Kind.FACT, Kind.TRAIT, Kind.PROFILE)  # kinds of which some are stated, and rest on no page
_MOST_VISITS = 100  # between two snapshots of a caller: to read more takes longer than to decide anew
_EVENTS_AT_ONCE = 1_000  # where the first ones are all of what the caller may not read
_OF_THE_PROGRAM = frozenset(kind.value for kind in JobKind)


class ViewedReader(SqlReader):
    """`contract.Reader` for a caller who may not read everything."""

    def __init__(
        self,
        connection: Connection,
        scope: Scope,
        clock: Clock,
        whole: SqlReader,
        view: View,
        *,
        is_shown: bool = False,
    ) -> None:
        super().__init__(connection, scope, clock, whole._packs, whole._known_jobs, whole._dim)
        self._whole = whole
        self._view = view
        self._is_shown = is_shown  # to the caller; what is written again keeps the ids that it names
        # A shared persona rests on pages of other scopes, whose changes are not events of this one.
        is_alone = self._scope.agent is not None
        self._permitted = dict[str, bool]()
        # Only what is shown is committed: what a transaction undoes leaves its numbers to the events of others.
        if is_alone and is_shown:
            self._permitted = view.decided(self._scope, self.sequence(), self._are_classes_of)

    @property
    def whole(self) -> SqlReader:
        return self._whole

    @property
    def view(self) -> View:
        return self._view

    def permitted(self, ids: Iterable[str]) -> set[str]:
        wanted = set(ids)
        self._decide(wanted.difference(self._permitted))
        return {cube_id for cube_id in wanted if self._permitted[cube_id]}

    def one(self, cube_id: str) -> MemCube | None:
        classes = self.classes([cube_id]).get(cube_id)
        if classes is None:  # an id that is guessed takes as long as one that is forbidden
            self._view.takes_as_long(self._scope)
            return None
        first, *others = classes
        is_admitted = self._view.admits_anew(*first) and all(self._view.admits(*one) for one in others)
        self._permitted[cube_id] = is_admitted and not _is_topic(first)
        if not self._permitted[cube_id]:
            return None
        cube = super().one(cube_id)
        return cube and self.shown(cube)

    def get(self, ids: Iterable[str]) -> dict[str, MemCube]:
        return super().get(self.permitted(ids))

    def found_pages(self, pages: Iterable[str]) -> dict[str, MemCube]:
        return super().get(pages)  # each is decided as it is read, so a hidden one takes longer than one that is gone

    def cubes(
        self,
        kind: Kind,
        *,
        tiers: Sequence[Tier] = (),
        states: Sequence[State] = (),
        marks: Sequence[CubeMark | None] = (),
        subject: Subject | None = None,
        first: int | None = None,
        last: int | None = None,
    ) -> list[MemCube]:
        if kind is not Kind.PAGE and first is None and last is None:
            self._decide_all(kind, tiers)
        return super().cubes(kind, tiers=tiers, states=states, marks=marks, subject=subject, first=first, last=last)

    def successions(self, ids: Iterable[str]) -> set[str]:
        return self.permitted(super().successions(ids))

    def kinds(self, ids: Iterable[str]) -> dict[str, Kind]:
        return super().kinds(self.permitted(ids))

    def versions(self, ids: Iterable[str]) -> dict[str, int]:
        return super().versions(self.permitted(ids))

    def states(self, ids: Iterable[str]) -> dict[str, State]:
        return super().states(self.permitted(ids))

    def added(self, ids: Iterable[str]) -> set[str]:
        return super().added(self.permitted(ids))

    def history(self, cube_id: str) -> list[MemCube]:
        found = super().history(cube_id) if self.permitted([cube_id]) else []
        return [self.shown(cube) for cube in found if self._admits(cube)]

    def transitions(self, cube_id: str) -> list[Transition]:
        return super().transitions(cube_id) if self.permitted([cube_id]) else []

    def label_changes(self, ids: Iterable[str]) -> dict[str, list[LabelChange]]:
        return super().label_changes(self.permitted(ids))

    def authors(self, cube_id: str) -> dict[int, Author]:
        return super().authors(cube_id) if self.permitted([cube_id]) else {}

    def placed(self, *, after: int = 0, limit: int = 1000, session: str | None = None) -> list[CubePlace]:
        while found := super().placed(after=after, limit=limit, session=session):
            known = self.permitted(one.id for one in found)
            if some := [one for one in found if one.id in known]:
                return some
            after = found[-1].position
        return []

    def counted(self, wanted: Selection) -> int:
        if wanted.kind is not Kind.PAGE or not wanted.is_told_by_columns:
            return len(self.listed(wanted))
        tally = SelectionPart(self._connection, self._owner, self._readable).tallied(wanted)
        return sum(count for labels, count in tally.items() if self._admits_class(wanted.kind, labels))

    def census(self) -> Census:
        cubes = tables.cubes.c
        pages = select(cubes.tier, cubes.tags, func.count()).where(self._owned(tables.cubes))
        pages = pages.where(cubes.kind == Kind.PAGE.value).group_by(cubes.tier, cubes.tags)
        others = select(cubes.id, cubes.kind, cubes.tier).where(self._owned(tables.cubes))
        counts: Counter[tuple[Kind, Tier]] = Counter()
        for tier, labels, count in self._connection.execute(pages):
            if self._admits_class(Kind.PAGE, labels):
                counts[Kind.PAGE, Tier(tier)] += count
        rest = self._connection.execute(others.where(cubes.kind != Kind.PAGE.value)).all()
        known = self.permitted(cube_id for cube_id, _, _ in rest)
        counts.update((Kind(kind), Tier(tier)) for cube_id, kind, tier in rest if cube_id in known)
        return Census(dict(counts))

    def jobs(self, *states: JobState) -> list[Job]:
        found = [job for job in super().jobs(*states) if job.kind not in _OF_THE_PROGRAM]
        known = self.permitted(job.cube_id for job in found if job.cube_id)
        return [job for job in found if job.cube_id in known]

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """The events of cubes that exist and may be read: of a deleted one, nobody can say who might.

        Why a version was made is told only if this version may be read.
        """
        most = limit
        while found := super().events(after=after, limit=most):
            known = self.permitted(one.cube_id for one in found)
            if some := [one for one in found if one.cube_id in known]:
                return self._with_reasons(some[:limit])
            after, most = found[-1].sequence, max(most, _EVENTS_AT_ONCE)
        return []

    def logged(self, *, after: int, limit: int) -> tuple[list[Event], int | None]:
        """It looks at so many events at most: what the caller may not read takes no longer the more there is of it."""
        some, last = self._logged(after, limit, limit)
        if some or last is None:
            return some, last
        return self._logged(last, limit, _EVENTS_AT_ONCE)

    def _logged(self, after: int, limit: int, most: int) -> tuple[list[Event], int | None]:
        """The same of the next so many events."""
        found = super().events(after=after, limit=most)
        known = self.permitted(one.cube_id for one in found)
        some = [one for one in found if one.cube_id in known]
        last = found if len(some) <= limit else some[:limit]
        is_whole = len(some) <= limit and len(found) < most
        return self._with_reasons(some[:limit]), None if is_whole or not last else last[-1].sequence

    def targets(self, sources: Iterable[str], kind: LinkKind) -> list[Link]:
        return self._between_permitted(super().targets(sources, kind))

    def sources(self, targets: Iterable[str], kind: LinkKind, *, merged: bool = False) -> list[Link]:
        return self._between_permitted(super().sources(targets, kind, merged=merged))

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        return self._between_permitted(super().links_of(ids))

    # Parts of the above

    def _with_reasons(self, events: Sequence[Event]) -> list[Event]:
        told: dict[str, set[int]] = {}
        for one in events:
            if is_reasoned(one.detail):
                told.setdefault(one.cube_id, set()).add(one.version)
        seen = {(cube.id, cube.number) for cube in self.get(told).values()}
        for cube_id, numbers in told.items():
            if former := [one for one in numbers if (cube_id, one) not in seen]:
                seen.update((cube_id, one) for one in self._admitted(cube_id, former))
        return [
            replace(one, detail=without_reason(one.detail))
            if one.cube_id in told and (one.cube_id, one.version) not in seen
            else one
            for one in events
        ]

    def _admitted(self, cube_id: str, numbers: Collection[int]) -> list[int]:
        """Those of these earlier versions of a cube that may be read."""
        stored = VersionPart(self._connection, self._owner).numbered(cube_id, numbers)
        return [row.version for row in stored if self._admits(earlier_cube(row))]

    def _are_classes_of(self, sequence: int) -> bool:
        """Whether nothing since that event can have changed a class: only visits, and few of them."""
        since = self._whole.events(after=sequence, limit=_MOST_VISITS)
        return len(since) < _MOST_VISITS and all(event.operation in CHANGES_NO_CLASS for event in since)

    def _between_permitted(self, links: Sequence[Link]) -> list[Link]:
        known = self.permitted(end for link in links for end in (link.source, link.target))
        return [link for link in links if link.source in known and link.target in known]

    def _readable(self, cube_id: str, stored: str, told: int | None) -> MemCube | None:
        """The cube; None if it is damaged or may not be read."""
        cube = super()._readable(cube_id, stored, told)
        if cube is None or not self._admits(cube):
            return None
        return self.shown(cube) if cube.kind is Kind.PAGE or self.permitted([cube_id]) else None

    def shown(self, cube: MemCube) -> MemCube:
        """The cube without what it says of others, and without the ids of those that the caller may not read."""
        named = _named(cube) if self._is_shown else ()
        hidden = self._present(set(named) - self.permitted(named)) if named else ()
        return alone(_without(cube, hidden) if hidden else cube)

    def _present(self, ids: Collection[str]) -> set[str]:
        """Those of these that are there: an id of what is gone hides nothing."""
        return {cube_id for cube_id, _, _ in self._asked(queries.HEADS, ids)}

    def _admits(self, cube: MemCube) -> bool:
        """Whether a page or what was stated may be read, as far as it says itself; its pages decide about the rest.

        So an earlier version from when it was private stays hidden when it is shared.
        """
        is_own = cube.kind is Kind.PAGE or (cube.kind in _STATED and not cube.descriptive.provenance)
        return not is_own or self._view.admits(cube.scope.owner, cube.kind.value, labels_text(cube))

    def _admits_class(self, kind: Kind, labels: str | None) -> bool:
        return self._view.admits(self._scope, kind.value, labels)

    def _decide_all(self, kind: Kind, tiers: Sequence[Tier]) -> None:
        """Decide about all cubes of a kind together, and not one by one as they are read."""
        cubes = tables.cubes.c
        query = select(cubes.id).where(self._owned(tables.cubes), cubes.kind == kind.value)
        if tiers:
            query = query.where(cubes.tier.in_([tier.value for tier in tiers]))
        self.permitted(self._connection.execute(query).scalars())

    def _decide(self, ids: Collection[str]) -> None:
        found = self.classes(ids) if ids else {}
        self._permitted |= {one: one in found and self._admits_classes(found[one]) for one in ids}

    def _admits_classes(self, classes: Sequence[CubeClass]) -> bool:
        return not _is_topic(classes[0]) and all(self._view.admits(*one) for one in classes)


def _is_topic(one: CubeClass) -> bool:
    return one.kind == Kind.SEGMENT.value


def _named(cube: MemCube) -> Collection[str]:
    """The ids of other cubes that a cube names; what it rests on may be read, or the cube itself could not be."""
    version = cube.version
    counter = cube.payload.counter if isinstance(cube.payload, Trait) else ()
    if not counter and version.supersedes is None and version.superseded_by is None:  # nearly all, so it is fast
        return ()
    return {one for one in (*counter, version.supersedes, version.superseded_by) if one is not None}


def _without(cube: MemCube, hidden: Collection[str]) -> MemCube:
    """The cube without the ids of these others."""
    version, payload = cube.version, cube.payload
    if isinstance(payload, Trait):
        payload = replace(payload, counter=tuple(one for one in payload.counter if one not in hidden))
    return replace(
        cube,
        payload=payload,
        version=replace(
            version,
            supersedes=None if version.supersedes in hidden else version.supersedes,
            superseded_by=None if version.superseded_by in hidden else version.superseded_by,
        ),
    )


def limited(reader: Any, view: View) -> ViewedReader:
    """The snapshot of a session with only the cubes that the view admits."""
    return ViewedReader(reader._connection, reader._scope, reader._clock, reader, view)
