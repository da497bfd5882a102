"""Jobs: the background work of one owner."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from memoryos import arguments
from memoryos.caller import Action
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.records import Job, JobState
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.operation.calls.door import door
from memoryos.operation.scheduler.job_kinds import MOST_PRIORITY
from memoryos.operation.scheduler.step import some_at_a_time
from memoryos.text import checked_text

_AT_ONCE = 500  # tried again in one transaction


@door
class Jobs(Noun):
    """The background jobs of one owner."""

    def list(self, *states: JobState) -> Listing[Job]:
        """List the jobs in these states (default: all), oldest first.

        Who may read only a part of the memory sees the jobs that programs added about memories of that part.
        """
        wanted = [arguments.one_of("states", state, JobState) for state in states]
        with self._engine.settled(self._scope) as reader:
            return Listing(reader.jobs(*wanted))

    def add(
        self,
        kind: str,
        payload: Mapping[str, Any] | None = None,
        *,
        about: str | None = None,
        priority: int | None = None,
        not_before: datetime | str | None = None,
    ) -> str:
        """Add a job of a kind that `admin.register_job` registered, and return its id.

        `about` is the id of a memory; deleting the memory deletes the job. Without it, the job is about the whole
        scope. If the same job already waits, no second one is added; the waiting one becomes due earlier or gets the
        higher priority. Raises InvalidInput and NotFound.
        """
        self._engine.admit(Action.WRITE, self._scope)
        wanted = self._engine.job_types.named(checked_text("kind", kind, limit=64))
        checked = self._engine.privacy(self._scope).value("payload", wanted.checked(payload))
        cube_id = None if about is None else arguments.cube_id(about, field="about")
        urgency = wanted.priority if priority is None else arguments.natural("priority", priority, most=MOST_PRIORITY)
        due = arguments.moment("not_before", not_before)
        with self._engine.vault.view(self._scope) as reader:
            is_seen = cube_id is None or bool(reader.kinds([cube_id]))
        with self._engine.vault.write(self._scope) as writer:
            if not is_seen or (cube_id is not None and not writer.kinds([cube_id])):
                raise NotFound(f"there is no memory {cube_id!r} of this user and agent")
            (job_id,) = writer.enqueue(kind, [cube_id], payload=checked, priority=urgency, not_before=due)
        self._engine.housekeeping.queued(self._scope)
        return job_id

    def retry(self, *job_ids: str) -> int:
        """Try dead jobs again (default: all of them) and return how many. Raises NotFound for any other id."""
        wanted = [arguments.cube_id(one, field="job_ids") for one in job_ids]
        with self._engine.vault.view(self._scope) as reader:
            dead = {job.id for job in reader.jobs(JobState.DEAD)}
        if unknown := set(wanted) - dead:
            raise NotFound(f"there is no dead job {min(unknown)!r} of this user and agent")
        tried = 0
        try:
            for some in some_at_a_time(wanted or sorted(dead), _AT_ONCE):
                with self._engine.vault.write(self._scope) as writer:
                    tried += writer.retry(some)
        finally:
            self._engine.housekeeping.queued(self._scope)
        return tried

    def run(self, timeout: float | None = None) -> None:
        """Run the waiting jobs, including those that an ended process left, and return when they are done.

        Raises StillRunning after `timeout` seconds; the jobs go on.
        """
        self._engine.admit(Action.WRITE, self._scope)
        self._engine.housekeeping.check_writable()
        self._engine.housekeeping.queued(self._scope)
        self._engine.wait(timeout)
