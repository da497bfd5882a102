"""JobRunner: runs the jobs of a store: leases, heartbeats, retries, and dead jobs with their errors.

A handler does jobs and ends them in the transaction of their effects, so that running a job again after a crash changes
nothing more.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event, Thread
from typing import Protocol

from memoryos.caller import SYSTEM, acting, working
from memoryos.clock import Clock
from memoryos.errors import BudgetSpent, LeaseLost, MemoryOSError, ModelUnavailable, ObjectsUnreachable, StorageError
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.records import Job, JobKind
from memoryos.operation.scheduler.rota import Rota
from memoryos.scope import Scope

LEASE = timedelta(minutes=1)
MOST_IN_A_ROW = 20  # times that a job about the same memory is run without a pause
MOST_TRIES = 5
MOST_TRIES_OUT = 60  # while a model cannot be reached: half a day
FIRST_DELAY = timedelta(seconds=2)
LONGEST_DELAY = timedelta(minutes=15)
LONGEST_ASKED = timedelta(days=1)  # by a server: one that asks for more is not believed
_GROWTH = 4.0  # of the delay with each try
_JITTER = 0.25  # of the delay, either way: those that failed together do not come back together

logger = logging.getLogger(__name__)


GoesOn = Callable[[], bool]


class Handler(Protocol):
    """Does jobs of one kind."""

    @property
    def at_once(self) -> int:
        """The number of jobs that it takes together."""
        ...

    @property
    def takes_early(self) -> bool:
        """Whether it takes jobs that are not due yet along with due ones."""
        ...

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn, /) -> Sequence[Job]:
        """Do the jobs and finish each in the transaction of its effects; stop between two when `goes_on` says so.

        Returns the jobs that are left. An exception is recorded with the unfinished jobs.
        """
        ...


@dataclass(frozen=True)
class JobRunner:
    """Runs the jobs of one store."""

    vault: Vault
    handlers: Mapping[str, Handler]  #: by kind
    clock: Clock
    rota: Rota = field(default_factory=Rota)

    def run_all(self, scope: Scope, goes_on: GoesOn = lambda: True) -> int:
        """Run the scope's jobs until none is due, or as long as it goes on; return how many were finished.

        If a job about a memory comes back again and again, its row is damaged; it waits until its lease expires.
        """
        finished, ran = 0, Counter[tuple[str, str]]()
        while goes_on() and (jobs := self._lease(scope)) and ran[_about(jobs[0])] < MOST_IN_A_ROW:
            ran.update(map(_about, jobs))
            finished += self.run(scope, jobs, goes_on)
        return finished

    def take_turn(self, scope: Scope, turn: GoesOn) -> int:
        """Run the scope's jobs for one turn, at least the first step; return how many were finished."""
        jobs = self._lease(scope)
        return self.run(scope, jobs, turn) + self.run_all(scope, turn) if jobs else 0

    def claim(self) -> tuple[Scope, list[Job]] | None:
        """Lease the jobs of the next owner of the store without a worker; pass them to `run`."""
        taken = self.vault.claim(lasting=LEASE, limit=self._limit, early=self._early, order=self.rota.ordered)
        if taken:
            self.rota.served(taken[0])
        return taken

    def others_wait(self, scope: Scope) -> bool:
        """Whether another owner of the store without a worker has due jobs."""
        return any(owner != scope.owner for owner in self.vault.waiting())

    def run(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn) -> int:
        """Run leased jobs, as many together as their handler takes; return how many were finished."""
        together, finished = self.handlers[jobs[0].kind].at_once, 0
        with self._kept_alive(scope, jobs):
            for start in range(0, len(jobs), together):
                some, later = jobs[start : start + together], jobs[start + together :]
                done = self._run_together(scope, some, goes_on)
                finished += done
                if later and (done < len(some) or not goes_on()):
                    self._release(scope, later)  # as they were: they did not run
                    break
        return finished

    def _run_together(self, scope: Scope, jobs: Sequence[Job], goes_on: GoesOn) -> int:
        """Run jobs with one call of their handler; an error counts against those that it leaves unfinished."""
        try:
            left = working(jobs[0].kind, lambda: self.handlers[jobs[0].kind].run(scope, jobs, goes_on))
            self._release(scope, left)
        except LeaseLost:  # another worker took one over, or it went with its memory: the others are still to be done
            self._release(scope, jobs)
            return 0
        except Exception as error:  # noqa: BLE001 - a worker's outermost line: the cause is kept with the job
            _log_failure(jobs[0].kind, error)
            return len(jobs) - self._put_back(scope, jobs, error)
        return len(jobs) - len(left)

    def next_due(self, scope: Scope) -> datetime | None:
        """When the next job is due."""
        with self.vault.read(scope) as reader:
            return reader.next_due()

    def _lease(self, scope: Scope) -> list[Job]:
        with self.vault.write(scope) as writer:
            return writer.lease(lasting=LEASE, limit=self._limit, early=self._early)

    @property
    def _limit(self) -> int:
        return max(handler.at_once for handler in self.handlers.values())

    @property
    def _early(self) -> list[str]:
        return [kind for kind, handler in self.handlers.items() if handler.takes_early]

    def _release(self, scope: Scope, jobs: Sequence[Job]) -> None:
        """End the leases of unfinished jobs."""
        if jobs:
            with self.vault.write(scope) as writer:
                for job in jobs:
                    with suppress(LeaseLost):
                        writer.release(job)

    def _put_back(self, scope: Scope, jobs: Sequence[Job], error: Exception) -> int:
        """Postpone the unfinished jobs; return how many."""
        now, count = self.clock(), 0
        with self.vault.write(scope) as writer:
            for job in jobs:
                with suppress(LeaseLost):  # it was finished before the error, or another worker has it
                    writer.fail(job, cause(error), retry_at=retry_at(job, error, now))
                    count += 1
        return count

    @contextmanager
    def _kept_alive(self, scope: Scope, jobs: Sequence[Job]) -> Iterator[None]:
        """Extend the leases regularly while the block runs."""
        done = Event()
        beat = Thread(
            target=lambda: acting(SYSTEM, lambda: self._extend(scope, jobs, done)),
            name="memoryos-heartbeat",
            daemon=True,
        )
        beat.start()
        try:
            yield
        finally:
            done.set()
            beat.join()

    def _extend(self, scope: Scope, jobs: Sequence[Job], done: Event) -> None:
        while not done.wait(LEASE.total_seconds() / 3):
            try:
                with self.vault.write(scope) as writer:
                    for job in jobs:
                        with suppress(LeaseLost):  # it is finished, which the others are not; or its end will tell
                            writer.extend(job, lasting=LEASE)
            except StorageError as error:  # busy: the next beat may come through
                logger.warning(
                    "lease not extended: %s",
                    type(error).__name__,
                    extra={"action": "heartbeat", "error": type(error).__name__},
                )


def _log_failure(kind: str, error: Exception) -> None:
    """Log the kind of the job and of the error; a message may quote a user."""
    what = {"kind": kind, "error": type(error).__name__}
    logger.warning(
        "a job (%(kind)s) failed: %(error)s; see `memoryos jobs list`", what, extra={"action": "job_failed"} | what
    )


def _about(job: Job) -> tuple[str, str]:
    """The subject of a job: a memory, or a unique value for a job about the scope."""
    return job.kind, job.cube_id or job.id


def cause(error: Exception) -> str:
    """The part of an error to store: only the name for errors of others, because their messages may quote a user."""
    return f"{type(error).__name__}: {error}" if isinstance(error, MemoryOSError) else type(error).__name__


def retry_at(job: Job, error: Exception, now: datetime) -> datetime | None:
    """When a failed job is retried; None after the last try."""
    if isinstance(error, BudgetSpent):
        return error.until
    if isinstance(error, ObjectsUnreachable) or job.kind is JobKind.EXPIRE:
        return now + _delay(job.attempts)  # an erasure is never given up
    most = MOST_TRIES_OUT if isinstance(error, ModelUnavailable) else MOST_TRIES
    if job.attempts >= most:
        return None
    return now + max(_asked(error), _delay(job.attempts))


def _asked(error: Exception) -> timedelta:
    """The delay that a server asked for, within reason."""
    seconds = error.retry_after or 0 if isinstance(error, ModelUnavailable) else 0
    return timedelta(seconds=min(seconds, LONGEST_ASKED.total_seconds()))


def _delay(attempts: int) -> timedelta:
    delay = min(FIRST_DELAY * _GROWTH ** min(attempts - 1, 10), LONGEST_DELAY)
    return delay * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - spreads load, guards nothing
