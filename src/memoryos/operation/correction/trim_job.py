"""Trim job: removes the earlier versions of memories that are not kept any longer.

One job waits for each memory with such versions; the transaction that makes a version adds it. What a snapshot shows,
and what the caller stated last, stays, with all that is newer. While a memory is frozen or on hold, nothing of it goes.
With a version of a page goes what was learned from its words and withdrawn when they were corrected, and so do the
versions of its topic, and what a person made the topic say: it may quote that version. While a topic is frozen or on
hold, the versions of its pages stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.built_cubes import undeletable
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, KeptVersion, LinkKind, Operation
from memoryos.infrastructure.vault.snapshot import snapshots
from memoryos.infrastructure.vault.version_part import TRIMMED, removal_detail
from memoryos.kinds import Kind, Origin, State
from memoryos.operation.consolidation.promotion import Promoter, persona_scope
from memoryos.operation.hierarchy.changes import CHARS_AT_ONCE, Changes
from memoryos.operation.hierarchy.redescribe import redescribe_segments
from memoryos.operation.knowledge.support import LINKS_AT_ONCE, thin_out
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.operation.scheduler.step import Step, take, together
from memoryos.retention import VersionLimit
from memoryos.scope import Scope

LOOK_AGAIN = timedelta(hours=1)  # after which versions that could not go are looked at again


@dataclass(frozen=True)
class TrimJob:
    """Runs jobs of the kind `TRIM`."""

    promoter: Promoter
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Remove the versions of the memories of these jobs, and wait for those that go next."""
        for number, job in enumerate(jobs):
            if not goes_on():
                return jobs[number:]
            limit, now = self._vault.version_limit, self.promoter.clock()
            if limit is not None:
                self._vault.kept_chains.forget(scope.owner)
                self._retell(scope, job.known_cube_id, limit, now)
                self._drop_withdrawn(scope, job.known_cube_id, limit, now)
                self._trim(scope, job, limit, now)
                continue
            with self._vault.write(scope) as writer:
                writer.finish(job)
        return ()

    @property
    def _vault(self) -> Vault:
        return self.promoter.vault

    def _retell(self, scope: Scope, cube_id: str, limit: VersionLimit, now: datetime) -> None:
        """Let a topic say only what its pages say if a page of it has versions that go."""
        with self._vault.read(scope) as reader:
            told = _told(reader, cube_id, limit, now)
        if told:
            take(self._vault, scope, partial(_retold, cube_id=cube_id, limit=limit, now=now))

    def _drop_withdrawn(self, scope: Scope, cube_id: str, limit: VersionLimit, now: datetime) -> None:
        """Remove what was learned from the words of the versions that go next."""
        with self._vault.read(scope) as reader:
            until = _corrected_by(reader, cube_id, limit, now)
        if until is None:
            return
        for home in dict.fromkeys((scope, persona_scope(scope, self.promoter.settings))):
            with self._vault.read(home) as reader:
                doomed = [cube.id for cube in _withdrawn_from(reader, cube_id, until)]
                links = reader.targets(doomed, LinkKind.DERIVED_FROM)
            counts = Counter(link.source for link in links)
            large = [one for one in doomed if counts[one] > LINKS_AT_ONCE]
            others = frozenset(link.target for link in links) - {cube_id}
            thin_out(self._vault, home, large, others, only_withdrawn=True)
            for some in together(doomed, counts.__getitem__, LINKS_AT_ONCE):
                take(self._vault, home, partial(_without, doomed=some))

    def _trim(self, scope: Scope, job: Job, limit: VersionLimit, now: datetime) -> None:
        """Remove what is not kept, and end the job with that: a version that comes later asks for another one."""

        def plan(reader: Reader) -> Step:
            step, due = _trimming(reader, job.known_cube_id, limit, now)

            def write(writer: Writer) -> None:
                step.write(writer)
                writer.finish(job)
                if due:
                    writer.enqueue(JobKind.TRIM, [job.known_cube_id], not_before=min(due))

            return replace(step, write=write)

        take(self._vault, scope, plan)


def _trimming(reader: Reader, cube_id: str, limit: VersionLimit, now: datetime) -> tuple[Step, list[datetime]]:
    """The removal of what is not kept, some in each part, and when something else may go."""
    cube, ends = reader.get([cube_id]).get(cube_id), _ends(reader, cube_id, limit)
    if cube is None or not ends:
        return Step(lambda _: None, [cube_id]), []
    over = _over(reader, cube_id, limit, now)
    going = set() if _stated_topics(reader, cube) else {*_going(reader, cube, over, now)}
    doomed = [one for one in reader.kept_versions([cube_id]) if one.number in going]
    entry, some_at_once = Entry(cube).prepared, together(doomed, lambda one: one.size, CHARS_AT_ONCE)
    parts: list[Callable[[Writer], None]] = [partial(_remove, entry, some) for some in some_at_once]
    *ahead, last = parts or [lambda _: None]
    topics, shown = _topics(reader, cube), snapshots(reader, now)
    held = reader.retention.held([cube_id, *topics])

    def holds(writer: Writer) -> bool:
        return snapshots(writer, now) == shown and writer.retention.held([cube_id, *topics]) == held

    later = [end for number, end in ends if end is not None and number not in over]
    again = [now + LOOK_AGAIN] if len(going) < len(over) else []
    return Step(last, [cube_id, *topics], holds=holds, ahead=ahead), [*later, *again]


def _without(reader: Reader, *, doomed: Sequence[str]) -> Step:
    """The removal of those of these memories that are still withdrawn, and not kept."""
    held = reader.retention.held(doomed)
    gone = [cube.id for cube in reader.get(doomed).values() if cube.is_withdrawn and not cube.is_frozen]
    going = [one for one in gone if one not in held]
    return Step(lambda writer: writer.delete(going), doomed, holds=lambda writer: writer.retention.held(doomed) == held)


def _ends(reader: Reader, cube_id: str, limit: VersionLimit) -> list[tuple[int, datetime | None]]:
    return limit.ends([(one.number, one.at) for one in reader.replaced(cube_id)])


def _over(reader: Reader, cube_id: str, limit: VersionLimit, now: datetime) -> list[int]:
    """The versions of a memory whose time is over."""
    return [number for number, end in _ends(reader, cube_id, limit) if end is not None and end <= now]


def _going(reader: Reader, cube: MemCube, over: Sequence[int], now: datetime) -> list[int]:
    """The versions that nothing needs, of those whose time is over."""
    if not over or cube.state is State.FROZEN or reader.retention.held([cube.id]):
        return []
    if undeletable(reader, _topics(reader, cube)):
        return []
    first = _first_kept(reader, cube, now)
    return [number for number in over if number < first]


def _corrected_by(reader: Reader, cube_id: str, limit: VersionLimit, now: datetime) -> datetime | None:
    """When the first version of a page that is kept was stored; None if none goes."""
    cube, over = reader.get([cube_id]).get(cube_id), _over(reader, cube_id, limit, now)
    if cube is None or cube.kind is not Kind.PAGE or not (going := _going(reader, cube, over, now)):
        return None
    return _since(reader, cube, going[-1])


def _withdrawn_from(reader: Reader, page: str, until: datetime) -> list[MemCube]:
    """What was learned from a page and withdrawn by then."""
    derived = reader.get(link.source for link in reader.sources([page], LinkKind.DERIVED_FROM))
    return [cube for cube in derived.values() if cube.is_withdrawn and _corrected_at(cube) <= until]


def _corrected_at(cube: MemCube) -> datetime:
    return cube.version.superseded_at or cube.descriptive.updated_at


def _remove(entry: Entry, doomed: Sequence[KeptVersion], writer: Writer) -> None:
    writer.drop_versions(doomed)
    writer.update([entry], Operation.REFRESH, detail=removal_detail([one.number for one in doomed]))
    writer.write_note(TRIMMED, "1")


def _topics(reader: Reader, cube: MemCube) -> list[str]:
    """The segment of a page."""
    return [link.target for link in reader.targets([cube.id], LinkKind.MEMBER_OF)]


def _stated_topics(reader: Reader, cube: MemCube) -> list[str]:
    """The segment of a page if a person wrote what it says."""
    return [topic.id for topic in reader.get(_topics(reader, cube)).values() if _is_stated(topic)]


def _told(reader: Reader, cube_id: str, limit: VersionLimit, now: datetime) -> list[str]:
    """The segment of a page that has versions that go, if a person wrote what it says."""
    cube, over = reader.get([cube_id]).get(cube_id), _over(reader, cube_id, limit, now)
    return _stated_topics(reader, cube) if cube and _going(reader, cube, over, now) else []


def _retold(reader: Reader, cube_id: str, limit: VersionLimit, now: datetime) -> Step:
    """Let segments say what their pages say, without their earlier versions."""
    changes, topics = Changes(reader), _told(reader, cube_id, limit, now)
    redescribe_segments(changes, topics, now)
    changes.prepare()
    held = reader.retention.held([cube_id, *topics])

    def write(writer: Writer) -> None:
        writer.drop_versions(writer.kept_versions(topics))
        changes.flush(writer)

    return Step(write, [cube_id, *topics], holds=lambda writer: writer.retention.held([cube_id, *topics]) == held)


def _since(reader: Reader, cube: MemCube, number: int) -> datetime:
    """When the first version after one with that number was stored."""
    kept = (one for one in (*reader.history(cube.id), cube) if one.version.number > number)
    return next(kept).descriptive.updated_at


def _first_kept(reader: Reader, cube: MemCube, now: datetime) -> int:
    """The oldest version that something needs: a snapshot, or what is derived again when a page goes."""
    shown = [_shown(reader, cube, one.sequence) for one in snapshots(reader, now)]
    stated = cube.version.number
    if cube.kind is not Kind.PAGE and cube.descriptive.origin is Origin.INFERENCE:
        told = (one.version.number for one in reversed(reader.history(cube.id)) if _is_stated(one))
        stated = next(told, stated)
    return min([stated, *shown])


def _shown(reader: Reader, cube: MemCube, sequence: int) -> int:
    """The version that was stored at an event of the log."""
    later = (one.number for one in reader.replaced(cube.id) if one.sequence > sequence)
    return next(later, cube.version.number)


def _is_stated(version: MemCube) -> bool:
    return version.descriptive.origin is not Origin.INFERENCE
