"""Expiry job: removes the memories of a scope whose lifespan has ended, with all that rests on them alone.

One job waits for each scope, until the next memory expires there. The transaction that writes a memory with an end adds
it, so a crash loses neither. Each memory goes by the way of a deletion. One that is frozen or on hold, or that keeps
such a memory, stays hidden. A thaw or a release adds the job again; as it may be in another scope, or come while the
job runs, the job also looks again by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memoryos.errors import CubeProtected, MemoryOSError, NotFound, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.vault.contract import Writer
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.correction.swept import note_swept
from memoryos.operation.recall.sources import Sources
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.scope import Scope

LOOK_AGAIN = timedelta(hours=1)  # after which what could not go is looked at again


@dataclass(frozen=True)
class ExpiryJob:
    """Runs jobs of the kind `EXPIRE`."""

    promoter: Promoter
    sources: Sources
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Remove what has expired, and wait for what expires next.

        Raises the first ObjectsUnreachable or StoreCorrupt about a memory, when the others are removed.
        """
        vault, failures = self.promoter.vault, list[MemoryOSError]()
        with vault.read(scope) as reader:
            expired = reader.expired()
            kept = set(reader.retention.held(expired))
        for cube_id in expired:
            if cube_id in kept:
                continue
            if not goes_on():
                return jobs
            try:
                if not self._removed(scope, cube_id):
                    kept.add(cube_id)
            except (ObjectsUnreachable, StoreCorrupt) as error:
                failures.append(error)
        self.sources.follow_erasure(scope.owner)
        if failures:
            raise failures[0]
        with vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
            if (due := self._due(writer, kept)) is not None:
                writer.enqueue(JobKind.EXPIRE, not_before=due)
        return ()

    def _due(self, writer: Writer, kept: Collection[str]) -> datetime | None:
        """When to look next; None if nothing has expired or will."""
        now, expired, following = self.promoter.clock(), writer.expired(), writer.next_expiry()
        if any(cube_id not in kept for cube_id in expired):
            return now
        moments = [now + LOOK_AGAIN] if expired else []
        return min([*moments, *([following] if following else [])], default=None)

    def _removed(self, scope: Scope, cube_id: str) -> bool:
        """Remove a memory if it is still there and still expired; whether it does not stay."""
        with self.promoter.vault.read(scope) as reader:
            cube = reader.get([cube_id]).get(cube_id)  # None: it is damaged, and its columns told
        if cube and not cube.has_expired(self.promoter.clock()):
            return True
        corrector = Corrector(self.promoter, scope)
        try:
            if cube and cube.descriptive.source_ids:
                corrector.refuse_frozen([cube_id])
                with self.promoter.vault.write(scope) as writer:  # before the page goes, for a crash in between
                    note_swept(writer, cube.descriptive.source_ids)
            corrector.delete(cube_id)
        except NotFound:  # it went with another one
            return True
        except CubeProtected:
            return False
        return True
