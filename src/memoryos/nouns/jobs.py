"""Jobs: the work behind the calls of one owner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memoryos import arguments
from memoryos.caller import Action
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.records import Job, JobState
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.scheduler.job_kinds import MOST_PRIORITY
from memoryos.text import checked_text


@door
class Jobs(Noun):
    """The jobs of one owner."""

    def list(self, *states: JobState) -> Sequence[Job]:
        """Background work in these states, oldest first."""
        wanted = [arguments.one_of("states", state, JobState) for state in states]
        with self._engine.settled(self._scope) as reader:
            return reader.jobs(*wanted)

    def add(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        about: str | None = None,
        priority: int | None = None,
        not_before: datetime | str | None = None,
    ) -> str:
        """Add a job of a kind that was registered with `admin.register_job`; returns its id.

        `about` is the id of the memory that it goes with when that is deleted; without one it is about the whole scope.
        One that is the same and waits already is at most hastened. Raises InvalidInput, NotFound.
        """
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.check_open()
        wanted = self._engine.job_types.named(checked_text("kind", kind, limit=64))
        checked = wanted.checked(payload)
        cube_id = None if about is None else arguments.cube_id(about, field="about")
        urgency = wanted.priority if priority is None else arguments.natural("priority", priority, most=MOST_PRIORITY)
        due = arguments.moment("not_before", not_before)
        with self._engine.vault.write(self._scope) as writer:
            if cube_id is not None and not writer.kinds([cube_id]):
                raise NotFound(f"there is no memory {cube_id!r} in this scope")
            (job_id,) = writer.enqueue(kind, [cube_id], payload=checked, priority=urgency, not_before=due)
        self._engine.housekeeping.queued(self._scope)
        return job_id

    def retry(self, *job_ids: str) -> int:
        """Try dead jobs again, all of them when none is named; returns how many. Raises NotFound for any other id."""
        wanted = [arguments.cube_id(one, field="job_ids") for one in job_ids]
        with self._engine.vault.write(self._scope) as writer:
            dead = {job.id for job in writer.jobs(JobState.DEAD)}
            if unknown := set(wanted) - dead:
                raise NotFound(f"there is no dead job {min(unknown)!r} in this scope")
            tried = writer.retry(wanted or sorted(dead))
        self._engine.housekeeping.queued(self._scope)
        return tried

    def run(self, timeout: float | None = None) -> None:
        """Do what waits, also what a process that ended left behind, and return when it is done.

        After `timeout` seconds it raises StillRunning, and the jobs go on.
        """
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.check_open()
        self._engine.housekeeping.check_writable()
        self._engine.housekeeping.queued(self._scope)
        self._engine.wait(timeout)
