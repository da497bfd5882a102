"""Trim job: removes the earlier versions of memories that are not kept any longer.

One job waits for each memory with such versions; the transaction that makes a version adds it. What a snapshot shows,
and what the caller stated last, stays, with all that is newer. While a memory is frozen or on hold, nothing of it goes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryos.clock import Clock
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, KeptVersion, Operation
from memoryos.infrastructure.vault.snapshot import snapshots
from memoryos.infrastructure.vault.version_part import TRIMMED
from memoryos.kinds import Kind, Origin, State
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.retention import VersionLimit
from memoryos.scope import Scope

LOOK_AGAIN = timedelta(hours=1)  # after which versions that could not go are looked at again


@dataclass(frozen=True)
class TrimJob:
    """Runs jobs of the kind `TRIM`."""

    vault: Vault
    clock: Clock
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Remove the versions of the memories of these jobs, and wait for those that go next."""
        for number, job in enumerate(jobs):
            if not goes_on():
                return jobs[number:]
            with self.vault.write(scope) as writer:
                limit = self.vault.version_limit
                due = None if limit is None else _trim(writer, job.known_cube_id, limit, self.clock())
                writer.finish(job)
                if due is not None:
                    writer.enqueue(JobKind.TRIM, [job.known_cube_id], not_before=due)
        return ()


def _trim(writer: Writer, cube_id: str, limit: VersionLimit, now: datetime) -> datetime | None:
    """Remove what is not kept; return when to look again, None if nothing is left that could go."""
    cube = writer.get([cube_id]).get(cube_id)
    ends = limit.ends([(one.number, one.at) for one in writer.replaced(cube_id)])
    over = [number for number, end in ends if end is not None and end <= now]
    if cube is None or not ends:
        return None
    if over and (cube.state is State.FROZEN or writer.retention.held([cube_id])):
        return now + LOOK_AGAIN
    first = _first_kept(writer, cube, now) if over else 0
    going = [number for number in over if number < first]
    if going:
        _remove(writer, cube, going)
    later = [end for number, end in ends if end is not None and number not in over]
    return min([*later, *([now + LOOK_AGAIN] if len(going) < len(over) else [])], default=None)


def _remove(writer: Writer, cube: MemCube, numbers: Sequence[int]) -> None:
    writer.drop_versions(KeptVersion(cube.id, number, 0) for number in numbers)
    told = json.dumps({"versions_removed": [numbers[0], numbers[-1]]})
    writer.update([Entry(cube)], Operation.REFRESH, detail=told)
    writer.write_note(TRIMMED, "1")


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
