"""Rebuild: all that was derived from the raw pages of an owner is derived again.

    UNWIND   32 pages at a time go back to STM as they came in, indexed anew; their chains and segments go
    FORGET   what was inferred from them leaves LPM; what somebody stated or corrected stays
    PLACE    they find their chains and segments again: the ordinary moves of housekeeping
    LEARN    segments with pages that LPM had read before, or was to read, are extracted, hot or not

How far it got is a note in the store, written in the transaction of each step. So any process goes on after a crash,
with the next write or the next rebuild. Raw pages are found at any moment; what is derived is missing for a while.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import partial

from memoryos.cube import MemCube, Segment, Trait
from memoryos.errors import CubeProtected
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import Entry, JobKind, Link, LinkKind, Operation
from memoryos.kinds import Kind, Origin, State, Tier
from memoryos.lifecycle import CubeMark
from memoryos.operation.consolidation.promotion import Promoter, persona_scope
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes, chars_to_write
from memoryos.operation.hierarchy.mid_term import page_of, segment_of
from memoryos.operation.hierarchy.page_entries import page_entries
from memoryos.operation.hierarchy.recent import ask_for_all_recent, extracted, forget_early, read_early
from memoryos.operation.knowledge.stated import restated
from memoryos.operation.knowledge.support import thin_out
from memoryos.operation.knowledge.trait import graded
from memoryos.operation.scheduler.step import LEARNED, Step, some_at_a_time, take, together
from memoryos.scope import Scope

AT_A_TIME = 32  # pages in one transaction


class Phase(StrEnum):
    """The phase of a rebuild."""

    UNWIND = "unwind"  # -> forget
    FORGET = "forget"  # -> place
    PLACE = "place"  # -> learn
    LEARN = "learn"


@dataclass(frozen=True, slots=True)
class Stage:
    """The progress of a rebuild."""

    phase: Phase
    total: int  #: pages when it began
    done: int = 0  #: pages of this phase
    lists: int = 0  #: notes with pages that LPM had read
    listed: int = 0  #: of these, the ones that were dealt with

    @property
    def pages(self) -> int:
        """The number of finished pages, where unwinding and placing count half each."""
        unwound = self.done if self.phase is Phase.UNWIND else self.total
        moved = {Phase.PLACE: self.done, Phase.LEARN: self.total}.get(self.phase, 0)
        return min((unwound + moved) // 2, self.total)


STAGE = Note("rebuild", as_json(Stage))
READ = Note("rebuild.", as_json(list[str]), has_many=True)  # pages that LPM had read or was to read, by number


def stage_of(reader: Reader) -> Stage | None:
    """The stage of the owner's running rebuild, or None."""
    return STAGE.of(reader)


def placed(stage: Stage | None, move: Callable[[int], bool], limit: int) -> tuple[bool, Stage | None]:
    """Let `move` take that many pages, unless a rebuild prevents it; return whether more is to do, and the stage."""
    if stage is None:
        return move(limit), None
    if stage.phase is not Phase.PLACE:
        return True, stage
    return True, replace(stage, done=stage.done + limit) if move(limit) else _then(stage, Phase.LEARN)


def write_stage(writer: Writer, stage: Stage | None) -> None:
    """Record the progress of a rebuild; None when it is done."""
    writer.write_note(STAGE.key, json.dumps(asdict(stage)) if stage else None)


@dataclass(frozen=True)
class Rebuilder:
    """Rebuilds the memory of one owner at a time, step by step; housekeeping places the pages."""

    promoter: Promoter

    def begin(self, owner: Scope) -> None:
        """Start a rebuild, unless one is running. Raises CubeProtected if a segment is frozen, OnHold for a hold."""
        with self.promoter.vault.read(owner) as reader:  # to count takes long
            reader.retention.refuse_all("rebuilt")
            pages = reader.census().of(Kind.PAGE)
            if frozen := reader.cubes(Kind.SEGMENT, states=[State.FROZEN], first=1):
                raise CubeProtected(
                    f"the segment {frozen[0].id} is frozen, and nothing was rebuilt: thaw it first",
                    memory_id=frozen[0].id,
                )
        with self.promoter.vault.write(owner) as writer:
            if stage_of(writer) is None:
                write_stage(writer, Stage(Phase.UNWIND, pages))

    def step(self, owner: Scope, stage: Stage) -> None:
        """Take the next step of a phase other than PLACE; nothing if another process was faster."""
        if stage.phase is Phase.UNWIND:
            self._unwind(owner)
        elif stage.phase is Phase.FORGET:
            self._forget(owner)
        elif stage.phase is Phase.LEARN:
            self._learn(owner)

    def _unwind(self, owner: Scope) -> None:
        with self.promoter.vault.read(owner) as reader:
            placed_pages = _placed_pages(reader, self.promoter.vault.pages_at_once(AT_A_TIME))
        pages = next(together(placed_pages, chars_to_write, CHARS_AT_ONCE), [])
        entries = [entry.prepared for entry in page_entries([_raw(page) for page in pages], self.promoter.embedder)]
        with self.promoter.vault.write(owner) as writer:
            stage = stage_of(writer)
            if stage is None or stage.phase is not Phase.UNWIND:
                return
            if not pages:
                writer.delete([segment.id for segment in writer.cubes(Kind.SEGMENT)])  # none, but for old damage
                write_stage(writer, _then(stage, Phase.FORGET))
                return
            present = writer.get(page.id for page in pages)
            unchanged = {page.id for page in pages if present.get(page.id) == page}  # the others come again
            read = _take_out(writer, unchanged)
            writer.update([entry for entry in entries if entry.cube.id in unchanged], Operation.REFRESH)
            if read:
                writer.write_note(f"{READ.key}{stage.lists}", json.dumps(read))
            write_stage(writer, replace(stage, done=stage.done + len(unchanged), lists=stage.lists + bool(read)))

    def _forget(self, owner: Scope) -> None:
        for home in dict.fromkeys((owner, persona_scope(owner, self.promoter.settings))):
            with self.promoter.vault.read(home) as reader:
                cubes = [cube for kind in LEARNED for cube in reader.cubes(kind) if _may_forget(cube)]
            for chunk in some_at_a_time(cubes):
                gone, ids = self._own_pages(owner, home, chunk), [cube.id for cube in chunk]
                thin_out(self.promoter.vault, home, ids, gone)
                take(self.promoter.vault, home, partial(self._unlearn, home=home, ids=ids, gone=gone))
        with self.promoter.vault.write(owner) as writer:
            stage = stage_of(writer)
            if stage and stage.phase is Phase.FORGET:
                write_stage(writer, _then(stage, Phase.PLACE))

    def _own_pages(self, owner: Scope, home: Scope, cubes: Iterable[MemCube]) -> set[str]:
        """The owner's pages that support these memories; a shared persona rests on other agents' pages, too."""
        pages = {page for cube in cubes for page in cube.descriptive.provenance}
        if home == owner:
            return pages
        with self.promoter.vault.read(owner) as reader:
            return set(reader.get(pages))

    def _unlearn(self, reader: Reader, *, home: Scope, ids: Sequence[str], gone: set[str]) -> Step:
        """Remove these pages from the support of the memories; delete those without support that nobody stated."""
        changes = Changes(reader)
        cubes = [cube for cube in reader.get(ids).values() if _may_forget(cube)]
        kept = [_resting(cube, rest) for cube in cubes if (rest := _rest(cube, gone))]
        lost = [cube for cube in cubes if not _rest(cube, gone)]
        lessons = [restated([*reader.history(cube.id), cube], self.promoter.embedder) for cube in lost]
        for cube in kept:
            changes.rest(cube, has_lost=True)
        for cube in lost:
            changes.remove(cube.id)
        planned = self.promoter.planned(reader, home, [lesson for lesson in lessons if lesson], changes=changes)
        return Step(planned.flush, changes.touched, ahead=planned.ahead())

    def _learn(self, owner: Scope) -> None:
        with self.promoter.vault.write(owner) as writer:
            stage = stage_of(writer)
            if stage is None or stage.phase is not Phase.LEARN:
                return
            if stage.listed >= stage.lists:
                write_stage(writer, None)
                return
            read = READ.of(writer, str(stage.listed)) or []
            forget_early(writer, read)  # by a job that ran beside the rebuild, which forgot what that learned
            segments = [link.target for link in writer.targets(read, LinkKind.MEMBER_OF)]
            new = [cube.id for cube in writer.get(segments).values() if cube.behaviour.interactions]
            writer.enqueue(JobKind.EXTRACT, new)
            if any(page.tier is Tier.STM for page in writer.get(read).values()):
                ask_for_all_recent(writer, self.promoter.clock())
            writer.write_note(f"{READ.key}{stage.listed}", None)
            write_stage(writer, replace(stage, listed=stage.listed + 1))


def _then(stage: Stage, phase: Phase) -> Stage:
    return replace(stage, phase=phase, done=0)


def _placed_pages(reader: Reader, most: int) -> list[MemCube]:
    """Pages that are not as they were added, oldest first, so that the new pages of a segment come last."""
    for tier in (Tier.ARCHIVE, Tier.MTM):
        if pages := reader.cubes(Kind.PAGE, tiers=[tier], first=most):
            return pages
    return reader.cubes(Kind.PAGE, tiers=[Tier.STM], marks=[CubeMark.CHAINED], first=most)


def _raw(page: MemCube) -> MemCube:
    """The page as it was added, with its visits and its state."""
    return replace(
        page,
        tier=Tier.STM,
        mark=None,
        payload=replace(page_of(page), chain_summary="", chain_written=""),
        behaviour=replace(page.behaviour, fingerprint=()),
    )


def _take_out(writer: Writer, pages: set[str]) -> list[str]:
    """Take pages out of their chains and segments; return those that LPM had read, or that a job was to read."""
    homes = writer.targets(pages, LinkKind.MEMBER_OF)
    early = read_early(writer, pages)
    members: dict[str, list[str]] = {}
    for link in homes:
        members.setdefault(link.target, []).append(link.source)
    writer.unlink([*homes, *writer.targets(pages, LinkKind.CHAIN)])
    forget_early(writer, early)
    known = extracted(writer, pages)
    writer.unlink(writer.targets(known, LinkKind.EXTRACTED))
    read = [*early, *sorted((known | _due(writer, pages, homes)) - early)]
    _shrink(writer, members)
    return read


def _shrink(writer: Writer, leaving: Mapping[str, Sequence[str]]) -> None:
    """Let go of the segments that these pages leave empty, all together, and tell the others that they are smaller."""
    segments = writer.get(leaving)
    doubtful = [one for one, segment in segments.items() if _may_be_empty(segment, leaving[one])]
    held = {link.target for link in writer.sources(doubtful, LinkKind.MEMBER_OF)}
    empty = [one for one in doubtful if one not in held]
    writer.delete(empty)
    left = (segment for one, segment in segments.items() if one not in empty)
    writer.update([Entry(_smaller(segment, leaving[segment.id])) for segment in left], Operation.REFRESH)


def _due(writer: Writer, pages: set[str], homes: Sequence[Link]) -> set[str]:
    """The pages that jobs are to read. After an earlier rebuild, these jobs are all that says which LPM had read.

    Those of a segment go with it, and the one of the recent pages finds none while they are not in their chains.
    """
    waiting = writer.asked(JobKind.EXTRACT, JobKind.READ_RECENT)
    asked = {job.cube_id if job.kind == JobKind.EXTRACT else job.kind for job in waiting}
    recent = pages - {link.source for link in homes} if JobKind.READ_RECENT in asked else set()
    return recent | {link.source for link in homes if link.target in asked}


def _may_be_empty(segment: MemCube, leaving: Sequence[str]) -> bool:
    return segment_of(segment).pages <= len(leaving)


def _smaller(segment: MemCube, leaving: Sequence[str]) -> MemCube:
    """The segment without these pages; it is not described again, because it will be removed."""
    payload: Segment = segment_of(segment)
    pages = max(1, payload.pages - len(leaving))
    behaviour = replace(segment.behaviour, interactions=min(segment.behaviour.interactions, pages))
    return replace(segment, payload=replace(payload, pages=pages), behaviour=behaviour)


def _may_forget(cube: MemCube) -> bool:
    """Whether it was inferred, and is neither frozen nor withdrawn: no page says again what was corrected."""
    is_inferred = cube.descriptive.origin is Origin.INFERENCE and bool(cube.descriptive.provenance)
    return is_inferred and not (cube.is_frozen or cube.is_withdrawn)


def _rest(cube: MemCube, gone: set[str]) -> tuple[str, ...]:
    """The support of a memory without these pages."""
    return tuple(page for page in cube.descriptive.provenance if page not in gone)


def _resting(cube: MemCube, pages: tuple[str, ...]) -> MemCube:
    """The memory with only this support."""
    payload = cube.payload
    if isinstance(payload, Trait):
        level, confidence = graded(len(pages))
        payload = replace(payload, level=level, confidence=confidence)
    return replace(cube, payload=payload, descriptive=replace(cube.descriptive, provenance=pages))
