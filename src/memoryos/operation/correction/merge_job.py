"""Merge job: merges the memories of one scope that say the same, by the setting `merge_duplicates`.

The earliest of a group takes in the others, as `duplicates.merge` does: each gets a transition with its cause, and
`unmerge` undoes it. This job does not merge again what was unmerged once.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from memoryos.clock import Clock
from memoryos.config import MergePolicy, Settings
from memoryos.cube import MemCube
from memoryos.errors import CubeProtected, InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.records import Job
from memoryos.operation.correction.merging import MERGEABLE, ONLY_EQUAL, UNMERGED, duplicates, merge
from memoryos.operation.knowledge.likeness import repeats
from memoryos.operation.scheduler.job_runner import GoesOn
from memoryos.scope import Scope

AT_ONCE = 100  # memories merged into one, before others have their turn


@dataclass(frozen=True)
class MergeJob:
    """Runs jobs of the kind `MERGE`."""

    vault: Vault
    settings: Settings
    clock: Clock
    at_once: int = 1
    takes_early: bool = False

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Merge what says the same."""
        policy, now = self.settings.merge_duplicates, self.clock()
        with self.vault.read(scope) as reader:
            groups = [] if policy is MergePolicy.OFF else self._groups(reader, policy, now)
        for ids, cause in groups:
            if not goes_on():
                return jobs
            with suppress(NotFound, InvalidInput, CubeProtected):
                merge(self.vault, scope, ids[:AT_ONCE], cause, now, alike=repeats)
        with self.vault.write(scope) as writer:
            for job in jobs:
                writer.finish(job)
        return ()

    def _groups(self, reader: Reader, policy: MergePolicy, now: datetime) -> list[tuple[list[str], str]]:
        """The ids of memories that say the same, and why they are merged: equal ones before near ones."""
        near = self.settings.merge_near if policy is MergePolicy.NEAR else ONLY_EQUAL
        found = [group for kind in MERGEABLE for group in duplicates(reader, kind, now, near=near)]
        found.sort(key=lambda group: not group.is_exact)
        told = [(_mergeable(reader, one.memories), "equal" if one.is_exact else "near") for one in found]
        return [(ids, f"merge_duplicates: {how}") for ids, how in told if len(ids) > 1]


def _mergeable(reader: Reader, cubes: Sequence[MemCube]) -> list[str]:
    """The ids of those that may be merged and that nobody gave back."""
    held = reader.retention.held(cube.id for cube in cubes)
    free = [cube for cube in cubes if not cube.is_read_only and cube.id not in held]
    return [cube.id for cube in free if all(one.cause != UNMERGED for one in reader.transitions(cube.id))]
