"""Rehoming: pages go to another segment, in one transaction; each is one event that tells how to undo it.

A segment that loses its last page goes; one that pages go back to after it went is opened again under its old id.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

from uuid_utils.compat import uuid7

from memoryos.cube import Behaviour, Descriptive, MemCube
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, Event, JobKind, Link, LinkKind, Operation
from memoryos.kinds import Kind, Origin, SemanticType, Tier
from memoryos.operation.hierarchy.arrangement import Plan, Reason, Rehoming
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.mid_term import formed
from memoryos.operation.hierarchy.page_entries import centre, page_vectors
from memoryos.operation.hierarchy.recent import extracted
from memoryos.operation.hierarchy.redescribe import in_order, retell_repaired

LAST_PAGES = 64  # that tell of a segment while its pages go or come in several steps


@dataclass(frozen=True, slots=True)
class Members:
    """The pages of a segment, by position."""

    cube: MemCube
    pages: tuple[str, ...]


def members_of(reader: Reader, segments: Iterable[str]) -> dict[str, Members]:
    """These segments with their pages, as far as they exist."""
    cubes = {name: cube for name, cube in reader.get(segments).items() if cube.kind is Kind.SEGMENT}
    pages: dict[str, list[str]] = {name: [] for name in cubes}
    for link in reader.sources(cubes, LinkKind.MEMBER_OF):
        pages[link.target].append(link.source)
    return {name: Members(cube, tuple(pages[name])) for name, cube in cubes.items()}


def named(plan: Plan) -> list[Rehoming]:
    """The moves of a plan, with names for the segments that it opens."""
    names = {name: str(uuid7()) for name in plan.opened}
    return [replace(one, target=names.get(one.target, one.target)) for one in plan.rehomings]


def rehoming_of(event: Event) -> Rehoming:
    """The rehoming that an event of `Operation.REHOME` records."""
    detail = json.loads(event.detail or "{}")
    return Rehoming(event.cube_id, detail["from"], detail["to"], Reason(detail["why"]))


class Rehomer:
    """Some moves: planned with a reader, and written in one transaction."""

    def __init__(
        self,
        reader: Reader,
        moves: Sequence[Rehoming],
        now: datetime,
        later: Collection[str] = frozenset(),
        begun: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """Open segments, describe what changes, and let go of what is empty.

        Segments that change `later` again are told by their last pages until then. `begun` are the versions of segments
        that earlier moves began: a repair begins one of each.
        """
        self._reader = reader
        self._later = later
        self._moves = moves
        self._now = now
        self._changes = Changes(reader)
        self._homes = {one.page: one.target for one in moves}
        self._before = members_of(reader, [name for one in moves for name in (one.source, one.target)])
        pages = [page for members in self._before.values() for page in members.pages]
        self._unread = frozenset(pages) - extracted(reader, pages)  # they wait for extraction
        self._moved = reader.get(self._homes)
        arriving: dict[str, list[MemCube]] = {}
        for page, target in self._homes.items():
            arriving.setdefault(target, []).append(self._moved[page])
        self._opened = [name for name in arriving if name not in self._before]
        for name in self._opened:
            self._changes.add(self._new(name, arriving[name]))
        self.versions = dict.fromkeys(self._opened, 1)  #: those of segments that it begins, or goes on with
        self._after = self._left()
        for members in self._after:
            if members.pages:
                entry = self._described(members, arriving.get(members.cube.id, ()))
                self._tell(members.cube, entry, begun.get(members.cube.id))
            else:
                self._changes.remove(members.cube.id)
        self._changes.prepare()
        self._entries = {page: Entry(cube).prepared for page, cube in self._moved.items()}

    @property
    def rests_on(self) -> set[str]:
        """The ids of cubes that may not change before it is written."""
        return {*self._before, *self._homes}

    @property
    def closed(self) -> int:
        """How many segments go."""
        return len(self._changes.gone)

    @property
    def described(self) -> dict[str, bool]:
        """The segments that are there then, and whether all their pages tell of them."""
        stay = {members.cube.id: len(members.pages) for members in self._after if members.pages}
        opened = dict.fromkeys(self._opened, 0)
        return {name: name not in self._later or pages <= LAST_PAGES for name, pages in (stay | opened).items()}

    def flush(self, writer: Writer) -> None:
        """Write it."""
        asked = self._asked_for(writer)
        writer.unlink([Link(one.page, LinkKind.MEMBER_OF, one.source) for one in self._moves])
        self._changes.flush(writer)
        writer.link([Link(one.page, LinkKind.MEMBER_OF, one.target) for one in self._moves])
        for one in self._moves:
            detail = json.dumps({"from": one.source, "to": one.target, "why": one.reason.value})
            writer.update([self._entries[one.page]], Operation.REHOME, detail=detail)
        writer.enqueue(JobKind.EXTRACT, asked)

    def _tell(self, segment: MemCube, entry: Entry, begun: int | None) -> None:
        """Store a segment as it is described now; the versions before go with pages that leave."""
        is_kept = all(one.source != segment.id for one in self._moves)
        if number := retell_repaired(self._changes, segment, entry, begun=begun, is_kept=is_kept):
            self.versions[segment.id] = number

    def _left(self) -> list[Members]:
        """The segments that were there, with the pages that they will have, by position."""
        pages: dict[str, list[str]] = {name: [] for name in self._before}
        for link in self._reader.sources(self._before, LinkKind.MEMBER_OF):
            home = self._homes.get(link.source, link.target)
            if home in pages:
                pages[home].append(link.source)
        return [Members(members.cube, tuple(pages[name])) for name, members in self._before.items()]

    def _new(self, name: str, pages: Sequence[MemCube]) -> Entry:
        """A segment that these pages form; it counts as visited and used as often as they were."""
        payload = formed(in_order({page.id: page for page in pages}))
        cube = MemCube(
            id=name,
            scope=pages[0].scope.owner,
            tier=Tier.MTM,
            payload=payload,
            descriptive=Descriptive(
                event_at=payload.first_at,
                recorded_at=self._now,
                updated_at=self._now,
                origin=Origin.INFERENCE,
                semantic_type=SemanticType.TOPIC,
            ),
            behaviour=Behaviour(
                last_access=max(max(page.behaviour.last_access, page.descriptive.event_at) for page in pages),
                visits=max(page.behaviour.visits for page in pages),
                interactions=self._waiting_in(page.id for page in pages),
            ),
        )
        return Entry(cube, centre(page_vectors(self._reader, [page.id for page in pages]), name))

    def _described(self, members: Members, arriving: Sequence[MemCube]) -> Entry:
        """The segment as its pages are now; what came in brings the use of it along."""
        pages = members.pages[-LAST_PAGES:] if members.cube.id in self._later else members.pages
        payload = formed(in_order(self._reader.get(pages)))
        payload = replace(payload, pages=payload.pages + len(members.pages) - len(pages))
        behaviour = members.cube.behaviour
        behaviour = replace(
            behaviour,
            interactions=self._waiting_in(members.pages),
            last_access=max([behaviour.last_access, *(page.descriptive.event_at for page in arriving)]),
            visits=max([behaviour.visits, *(page.behaviour.visits for page in arriving)]),
        )
        known, at = members.cube.descriptive, payload.first_at
        descriptive = replace(known, updated_at=self._now, event_at=at, origin=Origin.INFERENCE)
        cube = replace(members.cube, payload=payload, behaviour=behaviour, descriptive=descriptive)
        return Entry(cube, centre(page_vectors(self._reader, pages), cube.id))

    def _waiting_in(self, pages: Iterable[str]) -> int:
        return len(self._unread.intersection(pages))

    def _asked_for(self, writer: Writer) -> list[str]:
        """The segments to be extracted: where the pages go whose extraction was asked for."""
        asked = {job.known_cube_id for job in writer.asked(JobKind.EXTRACT)}
        before = [page for name in asked & self._before.keys() for page in self._before[name].pages]
        for_pages = self._unread.intersection(before)
        targets = {self._homes[page] for page in for_pages if page in self._homes}
        present = [*self._opened, *(members.cube.id for members in self._after if members.pages)]
        return [name for name in present if name in targets]
