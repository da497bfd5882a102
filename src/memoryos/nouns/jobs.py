"""Jobs: the work behind the calls of one owner."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.caller import Action
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.records import Job, JobState
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door


@door
class Jobs(Noun):
    """The jobs of one owner."""

    def list(self, *states: JobState) -> Sequence[Job]:
        """Background work in these states, oldest first."""
        wanted = [arguments.one_of("states", state, JobState) for state in states]
        with self._engine.settled(self._scope) as reader:
            return reader.jobs(*wanted)

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
