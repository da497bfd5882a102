"""Deletion job: deletes a memory that could not be deleted while the object store was unreachable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from memoryos.infrastructure.vault.records import Job
from memoryos.operation.consolidation.promotion import Promoter
from memoryos.operation.correction.brancher import Brancher
from memoryos.operation.correction.copies import Copies
from memoryos.operation.correction.correct import Corrector
from memoryos.operation.recall.sources import Sources
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.scope import Scope


@dataclass(frozen=True)
class DeletionJob:
    """Runs jobs of the kind `ERASE`: each job is removed with its memory, in the transaction that deletes it."""

    promoter: Promoter
    sources: Sources
    brancher: Callable[[Scope], Brancher]
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Delete the memories; returns those left. Raises ObjectsUnreachable, as long as that lasts."""
        for number, job in enumerate(jobs):
            if not goes_on():
                return jobs[number:]
            copies, wanted = Copies(self.brancher(scope)), job.known_cube_id
            copies.removed([wanted], partial(Corrector(self.promoter, scope).delete, wanted))
        self.sources.follow_erasure(scope.owner)
        return []
