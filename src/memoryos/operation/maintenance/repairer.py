"""Repairer: finds pages in the wrong segment and moves them. Each move can be undone.

The plan is made from a snapshot, beside other writers. It is carried out in steps of a few pages, and each step leaves
the descriptions of all segments correct. Pages that moved meanwhile stay where they are; after a crash, the next repair
finds the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from memoryos.caller import current_action
from memoryos.clock import Clock
from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput, NotFound, StoreBusy
from memoryos.infrastructure.vault.built_cubes import undeletable
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import Event, Job, JobKind, JobState, LinkKind, Operation
from memoryos.kinds import State, Tier
from memoryos.operation.hierarchy.arrangement import Placed, Plan, Reason, Rehoming
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes, chars_to_write
from memoryos.operation.hierarchy.mid_term import Topic, segment_of
from memoryos.operation.hierarchy.redescribe import redescribe_segments, retell_repaired
from memoryos.operation.hierarchy.rehome import (
    Members,
    Rehomer,
    members_of,
    named,
    rehoming_of,
)
from memoryos.operation.hierarchy.repair import is_mixed, plan, strays
from memoryos.operation.index.residency import Residency
from memoryos.operation.index.resident import Resident
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.scheduler.step import Step, take, together
from memoryos.plain import Plain
from memoryos.scope import Scope

PAGES_AT_ONCE = 20_000  # looked at in one run; a vector of each is held
SEGMENTS_AT_ONCE = 2_000
SAMPLE = 256  # pages by which a large segment is judged in the background
JOBS_AT_ONCE = 8
MOVED_AT_ONCE = 16  # pages, in one transaction

KEPT = Note("repair.kept", as_json(list[str]))  # the pages that were put back: they stay where they were wanted


@dataclass(frozen=True, slots=True)
class RepairReport(Plain):
    """The result of a repair."""

    moved: int = 0  #: pages moved to a segment that fits better
    split: int = 0  #: segments opened by splits
    merged: int = 0  #: segments merged into others
    pages: int = 0  #: pages checked; their number does not change
    segments_before: int = 0  #: segments checked
    segments_after: int = 0  #: segments when it was done
    events: tuple[int, ...] = ()  #: sequence of each move, for `upkeep.undo`


@dataclass(frozen=True, slots=True)
class PlannedRepair:
    """A plan and what it was made from."""

    plan: Plan
    sequence: int  #: sequence of the latest event at that time
    pages: int = 0
    segments: int = 0


@dataclass(frozen=True)
class Repairer:
    """Repairs the segments of one store: on request, and in the background when they have doubled in size."""

    vault: Vault
    residency: Residency
    settings: Settings
    clock: Clock
    at_once: int = JOBS_AT_ONCE
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], _goes_on: GoesOn) -> Sequence[Job]:
        """Repair the segments of these jobs and those where their pages seem to belong; finish the jobs."""
        names = [job.known_cube_id for job in jobs]
        with self.vault.read(scope) as reader:
            found = self._found(reader, scope, self._suspects(reader, scope, names))
        with self.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)  # first: it goes with its segment
        self.carry_out(scope, found)
        return ()

    def repair(self, scope: Scope) -> RepairReport:
        """Check all segments of MTM, largest first, up to the limit."""
        with self.vault.read(scope) as reader:
            found = self._found(reader, scope, self._all(reader, scope))
        return self.carry_out(scope, found)

    def undo(self, scope: Scope, sequences: Sequence[int]) -> RepairReport:
        """Move pages back to where they were before these events, and keep them there.

        A segment that was removed is opened again. Raises NotFound if there is no such event or the page is gone,
        InvalidInput if the page has moved since or its segment cannot take it back, OnHold. Of an undo that was
        interrupted between two steps, the next one does the rest.
        """
        with self.vault.read(scope, current_action()) as reader:
            left = sorted(_put_back(reader, sequences), key=lambda one: one.target)
            _check_takes_back(reader, left)
        done = _Done()
        try:
            while left:
                count = [0]
                take(self.vault, scope, partial(self._back, left=left, count=count, done=done))
                left = left[count[0] :]
        finally:
            self._describe(scope, done)
        return RepairReport(moved=len(done.moves), events=tuple(done.events))

    def _back(self, reader: Reader, *, left: Sequence[Rehoming], count: list[int], done: _Done) -> Step:
        """Put some pages back."""
        taken = count[0] = _moved_at_once(reader, left)
        some, later = left[:taken], _segments(left[taken:])
        _check_in_place(reader, some)
        _check_takes_back(reader, some)
        step = done.step(Rehomer(reader, some, self.clock(), later, done.versions), some)
        known = reader.note(KEPT.key)
        kept = _with_kept(reader, (one.page for one in some))

        def write(writer: Writer) -> None:
            step.write(writer)
            writer.write_note(KEPT.key, kept)

        return replace(step, write=write, holds=lambda writer: step.holds(writer) and writer.note(KEPT.key) == known)

    def carry_out(self, scope: Scope, found: PlannedRepair) -> RepairReport:
        """Carry out the plan, a few pages at a time."""
        done = _Done()
        left = sorted(named(found.plan), key=lambda one: one.target)  # a segment is described as seldom as can be
        while left:
            count = [0]

            def plan(reader: Reader, left: Sequence[Rehoming] = left, count: list[int] = count) -> Step:
                rehomer, moves = self._next(reader, left, count, done.versions)
                return done.step(rehomer, moves)

            take(self.vault, scope, plan)
            left = left[count[0] :]
        self._describe(scope, done)
        return _report(found, done)

    def _describe(self, scope: Scope, done: _Done) -> None:
        """Describe the segments as a whole whose next change was left out."""
        for name in done.in_brief:
            take(self.vault, scope, partial(self._whole, name=name, begun=done.versions.get(name)))

    def _whole(self, reader: Reader, *, name: str, begun: int | None) -> Step:
        """Describe a segment by all its pages."""
        changes = Changes(reader)
        redescribe_segments(changes, [name], self.clock(), partial(retell_repaired, begun=begun))
        return Step(changes.flush, [name])

    def _next(
        self, reader: Reader, left: Sequence[Rehoming], count: list[int], begun: Mapping[str, int]
    ) -> tuple[Rehomer | None, Sequence[Rehoming]]:
        """The next moves of a step."""
        taken = count[0] = _moved_at_once(reader, left)
        moves = _possible(reader, left[:taken], _being_extracted(reader))
        later = _segments(left[taken:])
        return (Rehomer(reader, moves, self.clock(), later, begun) if moves else None), moves

    def _found(self, reader: Reader, scope: Scope, names: Iterable[str]) -> PlannedRepair:
        """Make a plan for these segments."""
        resident = self.residency.following(scope, reader)
        topics = _topics(resident)
        members = _free(reader, members_of(reader, [name for name in names if name in topics]))
        placed = _placed(reader, resident, members)
        room = max(0, self.settings.mid_term_capacity - len(topics))
        made = plan(placed, self.settings.segment_threshold, room)
        return PlannedRepair(made, reader.sequence(), len(placed), len(members))

    def _suspects(self, reader: Reader, scope: Scope, names: Iterable[str]) -> list[str]:
        """The segments that seem mixed or hold strays, and the segments where the strays seem to belong."""
        resident = self.residency.following(scope, reader)
        topics = _topics(resident)
        found: dict[str, None] = {}
        for name, members in members_of(reader, [name for name in names if name in topics]).items():
            step = -(-len(members.pages) // SAMPLE)
            sample = _placed(reader, resident, {name: replace(members, pages=members.pages[::step] if step else ())})
            others = {other: topic.probe.unit for other, topic in topics.items() if other != name}
            belonging = strays(sample, others, self.settings.segment_threshold)
            if belonging or is_mixed(sample):
                found |= dict.fromkeys([name, *sorted(belonging)])
        return _at_once([topics[name].cube for name in found])

    def _all(self, reader: Reader, scope: Scope) -> list[str]:
        cubes = [topic.cube for topic in self.residency.following(scope, reader).topics]
        return _at_once(sorted(cubes, key=lambda cube: -segment_of(cube).pages))


def _topics(resident: Resident) -> dict[str, Topic]:
    return {topic.cube.id: topic for topic in resident.topics}


def _at_once(cubes: Iterable[MemCube]) -> list[str]:
    """The segments that are checked together."""
    names: list[str] = []
    room = PAGES_AT_ONCE
    for cube in cubes:
        if segment_of(cube).pages <= room and len(names) < SEGMENTS_AT_ONCE:
            room -= segment_of(cube).pages
            names.append(cube.id)
    return names


def _free(reader: Reader, members: Mapping[str, Members]) -> dict[str, Members]:
    """Leave out segments that are frozen, on hold or being extracted: their pages must not move meanwhile."""
    busy = _being_extracted(reader) | undeletable(reader, list(members))
    return {name: one for name, one in members.items() if name not in busy}


def _being_extracted(reader: Reader) -> set[str]:
    return {job.known_cube_id for job in reader.asked(JobKind.EXTRACT) if job.state == JobState.LEASED}


def _placed(reader: Reader, resident: Resident, members: Mapping[str, Members]) -> list[Placed]:
    """The pages of these segments, by position."""
    homes = {page: one for one in members.values() for page in one.pages}
    kept = _kept(reader)
    vectors = resident.page_vectors(reader, homes)
    several = reader.sources(members, LinkKind.MEMBER_OF) if len(members) > 1 else []
    ordered = [link.source for link in several if link.source in homes] or list(homes)
    kept |= {page for page, state in reader.states(homes).items() if state is State.FROZEN}
    return [Placed(page, homes[page].cube.id, vectors[page], page in kept) for page in ordered]


def _possible(reader: Reader, moves: Sequence[Rehoming], busy: set[str]) -> list[Rehoming]:
    """The moves that are still possible."""
    homes = {link.source: link.target for link in reader.targets([one.page for one in moves], LinkKind.MEMBER_OF)}
    cubes = reader.get({name for one in moves for name in (one.source, one.target)})
    away = busy | undeletable(reader, list(cubes)) | {one for one, cube in cubes.items() if cube.tier is not Tier.MTM}
    away |= {page for page, state in reader.states(one.page for one in moves).items() if state is State.FROZEN}
    return [one for one in moves if homes.get(one.page) == one.source and not away & {one.page, one.source, one.target}]


def _moved_at_once(reader: Reader, left: Sequence[Rehoming]) -> int:
    """The number of moves in the next step: the documents of their pages are written with them."""
    some = left[:MOVED_AT_ONCE]
    pages = reader.get(one.page for one in some)
    sizes = {name: chars_to_write(page) for name, page in pages.items()}
    return len(next(together(some, lambda one: sizes.get(one.page, 0), CHARS_AT_ONCE)))


def _segments(moves: Iterable[Rehoming]) -> set[str]:
    """The segments that pages leave or join."""
    return {name for one in moves for name in (one.source, one.target)}


@dataclass
class _Done:
    """The part of a plan that was carried out."""

    moves: list[Rehoming] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    closed: int = 0
    versions: dict[str, int] = field(default_factory=dict)  # those of segments that it began
    _is_whole: dict[str, bool] = field(default_factory=dict)  # whether all its pages tell of a segment

    @property
    def in_brief(self) -> list[str]:
        """The segments that are described by their last pages only."""
        return [name for name, is_whole in self._is_whole.items() if not is_whole]

    def step(self, rehomer: Rehomer | None, moves: Sequence[Rehoming]) -> Step:
        """Make these moves in one step."""
        if rehomer is None:
            return Step(lambda _: None, ())

        def write(writer: Writer) -> None:
            before = writer.sequence()
            rehomer.flush(writer)
            self.events += _moves_since(writer, before)
            self.moves += moves
            self.closed += rehomer.closed
            self.versions |= rehomer.versions
            self._is_whole |= rehomer.described

        segments = _segments(moves)
        return Step(write, rehomer.rests_on, holds=lambda writer: not _being_extracted(writer) & segments)


def _report(found: PlannedRepair, done: _Done) -> RepairReport:
    opened = len(set(found.plan.opened)) if len(done.moves) == len(found.plan.rehomings) else _opened(found, done)
    return RepairReport(
        moved=sum(one.reason is Reason.MOVE for one in done.moves),
        split=opened,
        merged=done.closed,
        pages=found.pages,
        segments_before=found.segments,
        segments_after=found.segments + opened - done.closed,
        events=tuple(done.events),
    )


def _opened(found: PlannedRepair, done: _Done) -> int:
    """The number of segments that were opened, if not all moves were made."""
    there = {one.source for one in found.plan.rehomings} | {one.target for one in found.plan.rehomings}
    return len({one.target for one in done.moves} - there)


def _moves_since(reader: Reader, sequence: int) -> tuple[int, ...]:
    latest = reader.events(after=sequence, limit=reader.sequence() - sequence)
    return tuple(event.sequence for event in latest if event.operation is Operation.REHOME)


# Undoing


def _put_back(reader: Reader, sequences: Sequence[int]) -> list[Rehoming]:
    """The moves that undo these events. Pages that an interrupted undo put back stay, if any other is left."""
    done = [rehoming_of(_event(reader, sequence)) for sequence in sorted(set(sequences))]
    pages = list(dict.fromkeys(one.page for one in done))
    present = {link.source: link.target for link in reader.targets(pages, LinkKind.MEMBER_OF)}
    wanted = {one.page: one.source for one in reversed(done)}  # where its first move took it from
    back = {page for page in _kept(reader) if present.get(page) == wanted.get(page)}
    left = [one for one in done if one.page not in back] or done
    homes = dict(present)
    for one in reversed(left):
        if one.page not in homes:
            raise NotFound(f"page {one.page!r} is gone")
        if homes[one.page] != one.target:
            raise _has_moved(one)
        homes[one.page] = one.source
    return [
        Rehoming(page, present[page], homes[page], Reason.UNDO)
        for page in dict.fromkeys(one.page for one in left)
        if homes[page] != present[page]
    ]


def _has_moved(one: Rehoming) -> InvalidInput:
    return InvalidInput("sequence", f"page {one.page!r} has moved since", "Undo its later moves first")


def _check_in_place(reader: Reader, moves: Sequence[Rehoming]) -> None:
    """Refuse moves of pages that were moved or deleted meanwhile."""
    homes = {link.source: link.target for link in reader.targets([one.page for one in moves], LinkKind.MEMBER_OF)}
    for one in moves:
        if one.page not in homes:
            raise NotFound(f"page {one.page!r} is gone")
        if homes[one.page] != one.source:
            raise _has_moved(one)


def _event(reader: Reader, sequence: int) -> Event:
    found = reader.events(after=sequence - 1, limit=1) if sequence > 0 else []
    if not found or found[0].sequence != sequence or found[0].operation is not Operation.REHOME:
        raise NotFound(f"there is no repair with the sequence {sequence} of this user and agent")
    return found[0]


def _check_takes_back(reader: Reader, moves: Sequence[Rehoming]) -> None:
    """Refuse moves that MTM cannot take back now."""
    members = members_of(reader, _segments(moves))
    if any(one.cube.tier is not Tier.MTM for one in members.values()):
        raise InvalidInput("sequence", "a segment of that move is in the archive", "Evicted segments cannot be changed")
    if _being_extracted(reader).intersection(members):
        raise StoreBusy("a segment of that move is being extracted; try again")
    for segment, hold in reader.retention.undeletable(list(members)).items():
        raise hold.refusal(segment)


def _kept(reader: Reader) -> set[str]:
    return set(KEPT.of(reader) or ())


def _with_kept(reader: Reader, pages: Iterable[str]) -> str:
    """The note with these pages, too, which repair leaves where they are; those that are gone are dropped."""
    return json.dumps(sorted(reader.states(_kept(reader).union(pages))))
