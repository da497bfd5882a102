"""Housekeeping: the background work after a write.

A write only puts pages into STM. Housekeeping finds their chain and, when STM is full, their segment; it counts visits,
and queues hot segments for extraction. The store itself records what waits: pages in STM without a mark, and queued
jobs. So nothing is lost if the process dies; the next one that uses the scope continues.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from datetime import datetime
from threading import Lock

from memoryos.bounded import Bounded
from memoryos.caller import SYSTEM, acting
from memoryos.config import ExtractorKind, JobsRun, Settings
from memoryos.errors import EmbedderMismatch, StorageError, StoreBusy, StoreReadOnly
from memoryos.infrastructure.vault.records import Job
from memoryos.kinds import Kind, Tier
from memoryos.operation.index.residency import Residency
from memoryos.operation.maintenance.cooler import Cooler
from memoryos.operation.maintenance.moves import Left, Mover
from memoryos.operation.maintenance.rebuild import Phase, Rebuilder, stage_of
from memoryos.operation.recall.visits import AT_A_TIME, Counts, VisitLog
from memoryos.operation.scheduler.background import Background
from memoryos.operation.scheduler.job_runner import GoesOn, JobRunner
from memoryos.operation.scheduler.rota import Rota
from memoryos.operation.scheduler.scope_timer import ScopeTimer
from memoryos.operation.scheduler.time_slice import TimeSlice
from memoryos.progress import Progress
from memoryos.scope import Scope

PATIENCE_SECONDS = 60.0  # what waits longer no longer waits for the callers to be quiet
TRIES = 10  # of work for which the store was busy as long as a caller waits
RETRY_SECONDS = 2.0  # until jobs that could not be done now are looked at again
VISITS_SECONDS = 600.0  # until visits are written that nothing else writes: use keeps a memory from its end

logger = logging.getLogger(__name__)


class Housekeeping:
    """The background work of one store."""

    def __init__(
        self, runner: JobRunner, rebuilder: Rebuilder, residency: Residency, cooler: Cooler, settings: Settings
    ) -> None:
        self._runner = runner
        self._rebuilder = rebuilder
        self._vault = runner.vault
        self._cooler = cooler
        self._settings = settings
        self._residency = residency
        self._mover = Mover(runner.vault, residency, settings, runner.clock)
        self._visits = VisitLog()
        self._background = Background("housekeeping", PATIENCE_SECONDS)
        # Calls of a model take seconds: pages do not wait for them.
        is_slow = settings.extractor is ExtractorKind.MODEL
        self._worker = Background("jobs") if is_slow else self._background
        self._timer = ScopeTimer(self._schedule)
        self._lock = Lock()
        self._met = Bounded[Scope, int]()  # how many kinds of jobs were known when the owner's jobs were looked for
        self._tidy = Bounded[Scope, bool]()  # owners of whom no page waits, as far as this process knows
        self._scheduled: set[Scope] = set()  # owners to keep; a task for each waits in the background
        self._due: set[Scope] = set()  # owners with jobs; a task for each waits for the worker
        self._kept: set[Scope] = set()  # at work for, now
        self._served: set[Scope] = set()  # the same for jobs
        self._failed: dict[Scope, BaseException] = {}  # owners for whom the last work failed; it is tried again
        self._rota, self._job_rota = Rota(), Rota()
        self._is_abandoned = False
        self._is_closing = False
        self._is_closed = False

    def call(self) -> AbstractContextManager[None]:
        """Mark a call as in flight: housekeeping lets it go first."""
        return self._background.call()

    def work_apart(self) -> None:
        """From now on, run jobs in a thread separate from the moves, because some may wait for a model."""
        if self._worker is self._background:
            self._worker = Background("jobs")

    def written(self, scope: Scope) -> None:
        """Note that pages were added."""
        self._note_untidy(scope.owner)
        self._schedule(scope.owner)

    def queued(self, scope: Scope) -> None:
        """Note that jobs were added."""
        self._schedule(scope.owner)

    def later(self, task: Callable[[], None]) -> None:
        """Run a task of others in the background, after the calls in flight."""
        self._background.submit(task)

    def visited(self, scope: Scope, ids: Iterable[str], at: datetime) -> None:
        """Note that a search returned these cubes."""
        if not self._vault.is_only_read and self._visits.record(scope, ids, at):
            self._write_visits(scope.owner, self._visits.rests(scope))
        self._write_late_visits(scope.owner)
        if owner := self._visits.overdue():
            self._visits.hasten(owner)
            self._schedule(owner)
        if self._residency.is_worth_keeping(scope):
            self._schedule(scope.owner)
        self._meet(scope.owner)

    def _write_visits(self, owner: Scope, seconds: float) -> None:
        """Write an owner's visits after that many seconds; a timer starts a thread, which now needs none."""
        if seconds:
            self._timer.set(owner, seconds)
        else:
            self._schedule(owner)

    def _write_late_visits(self, owner: Scope) -> None:
        """Write what waits of an owner after a while, also if nobody calls any more."""
        if self._visits.waiting(owner):
            self._timer.set(owner, VISITS_SECONDS)

    def unvisited(self, scope: Scope) -> None:
        """Drop the visits of an owner that are not written yet."""
        self._visits.take(scope.owner)

    def catch_up(self, scope: Scope) -> None:
        """Move the waiting pages now, in this thread, so that the caller finds each in its segment.

        If the store cannot be written, or is being rebuilt, the caller reads the current state.
        """
        acting(SYSTEM, lambda: self._catch_up(scope.owner, lambda: True))
        self._meet(scope.owner)

    def met(self, scope: Scope) -> None:
        """Leave the pages that wait, also those of a process that died, to the background: the caller needs no move."""
        owner = scope.owner
        if owner not in self._tidy and not self._vault.is_only_read and not self._is_tidy(owner):
            self._schedule(owner)
        self._meet(owner)

    def _meet(self, owner: Scope) -> None:
        """Look for jobs that an earlier process left, when this one first uses the owner or knows more kinds."""
        kinds = len(self._runner.handlers)
        if self._met.get(owner) == kinds or self._vault.is_only_read or self._settings.jobs is JobsRun.WORKER:
            return
        self._met[owner] = kinds
        try:
            if self._runner.next_due(owner) is not None:
                self._hire(owner)
        except StorageError as error:  # what the caller asks for tells more
            self._log_delay(error)

    def _catch_up(self, owner: Scope, goes_on: GoesOn) -> None:
        if owner in self._tidy or self._vault.is_only_read:
            return
        try:
            if self._is_tidy(owner) or self._is_rebuilt(owner):
                return
            while (left := self._step(owner, visits=not self._visits.rests(owner))).pages and goes_on():
                pass
        except StorageError as error:
            self._log_delay(error)
            return
        if left.jobs:
            self._schedule(owner)

    def in_turn(self, owners: Iterable[Scope]) -> list[Scope]:
        """The owners in the order of service."""
        return self._runner.rota.ordered(owners)

    def claim(self) -> tuple[Scope, list[Job]] | None:
        """Lease the jobs of the next owner of the store without a worker, for `work`."""
        return self._runner.claim()

    def work(self, scope: Scope, goes_on: GoesOn, taken: Sequence[Job] = ()) -> int:
        """Do the leased jobs, move waiting pages and do more jobs; return how many were finished.

        While other owners wait, this ends after the first step, or, without leased jobs, after pages have moved.
        """
        owner = scope.owner
        turn = TimeSlice(goes_on, lambda: self._runner.others_wait(owner))
        finished = self._runner.run(owner, taken, turn) if taken else 0
        self._note_untidy(owner)  # pages that another process wrote and left are unknown here
        self._catch_up(owner, turn)
        if not taken and self._runner.others_wait(owner):
            return finished
        return finished + self._runner.run_all(owner, turn)

    def promote_all(self, scope: Scope, until: float = math.inf) -> bool:
        """Extract all unread pages, in STM and in all segments; return whether it is done before that time."""
        self.check_writable()
        self.catch_up(scope)
        self._mover.promote_all(scope.owner)
        self._visits.hasten(scope.owner)
        self._schedule(scope.owner)
        return self.wait(until)

    def rebuild(self, scope: Scope, progress: Progress | None = None, until: float = math.inf) -> bool:
        """Derive everything again from the raw pages, or continue an interrupted rebuild.

        Returns whether it is done before that time; what is left goes on in the background.
        """
        owner = scope.owner
        self._rebuilder.begin(owner)
        self._note_untidy(owner)
        total = 0
        while time.monotonic() < until and self._step(owner).pages:
            with self._vault.read(owner) as reader:
                stage = stage_of(reader)
            total = stage.total if stage else total
            if progress:
                progress(stage.pages if stage else total, total)
        self._schedule(owner)
        return self.wait(until)

    def check_writable(self) -> None:
        """Raise StoreReadOnly if the store is open for reading only, where the work would never be done."""
        if self._vault.is_only_read:
            raise StoreReadOnly("the store is open for reading only: open it without read_only")

    def wait(self, until: float = math.inf) -> bool:
        """Write the visits and wait until that time; return whether nothing waits any more.

        Work that failed earlier is tried again first. Raises the first background error, and StoreReadOnly if work is
        due in a store that may not be written.
        """
        self._try_again()
        for owner in self._visits.owners():
            self._visits.hasten(owner)
            self._schedule(owner)
        is_done = self._background.wait(until) and self._worker.wait(until)
        if is_done and self._may_not_write:
            self._check_nothing_due()
        return is_done

    @property
    def _may_not_write(self) -> bool:
        with self._lock:
            was_refused = any(isinstance(error, StoreReadOnly) for error in self._failed.values())
        return was_refused or not self._vault.is_writable

    @property
    def unfinished(self) -> dict[str, int]:
        """The numbers of owners with "pages" to move and with "jobs" to do."""
        with self._lock:
            return {"pages": len(self._scheduled | self._kept), "jobs": len(self._due | self._served)}

    def close(self) -> None:
        """Finish the work and write the waiting visits. Of the jobs with a model, only the running one is finished.

        No index is saved just because the process ends: the next process catches up with the log in a fraction of a
        second.
        """
        if self._is_closed:  # visits that could not be written are lost, and no reason to fail now
            return
        self._is_closed = True
        self._timer.close()
        self._try_again()
        for owner in self._visits.owners():
            self._visits.hasten(owner)
            self._schedule(owner)
        self._is_closing = self._worker is not self._background
        with ExitStack() as steps:
            steps.callback(self._worker.close)
            steps.callback(self._background.close)

    def abandon(self) -> None:
        """Finish only the running step and leave the rest to the next process."""
        self._is_abandoned = True

    def _check_nothing_due(self) -> None:
        """Raise StoreReadOnly if pages or jobs of the store wait for somebody who may write it."""
        pages = len(self._vault.unsettled())
        jobs = 0 if self._settings.jobs is JobsRun.WORKER else len(self._vault.waiting())
        if pages or jobs:
            waits = f"pages of {pages} owners are to be moved and jobs of {jobs} owners to be done"
            raise StoreReadOnly(f"the store may not be written here, and {waits}: open it where it may be written")

    def _try_again(self) -> None:
        """Schedule again the owners for whom work failed, for example because the disk was full."""
        with self._lock:
            failed, self._failed = self._failed, {}
        for owner, error in failed.items():
            self._forget(error)
            self._schedule(owner)

    def _forget(self, error: BaseException | None) -> None:
        if error is not None:
            self._background.forget(error)
            self._worker.forget(error)

    def _schedule(self, owner: Scope) -> None:
        if self._vault.is_only_read:
            return
        with self._lock:
            if owner in self._scheduled:
                return
            self._scheduled.add(owner)
        self._background.submit(lambda: self._next(self._keep, self._scheduled, self._kept, self._rota))

    def _hire(self, owner: Scope) -> None:
        """Queue the owner's jobs."""
        with self._lock:
            if owner in self._due:
                return
            self._due.add(owner)
        self._worker.submit(lambda: self._next(self._run_jobs, self._due, self._served, self._job_rota))

    def _next(self, work: Callable[[Scope], None], waiting: set[Scope], at_work: set[Scope], rota: Rota) -> None:
        """Work for the next owner."""
        with self._lock:
            owner = rota.ordered(waiting)[0]
            waiting.discard(owner)
            at_work.add(owner)
            rota.served(owner)
        try:
            self._if_ours(work, owner)
        except Exception as error:
            with self._lock:
                earlier = self._failed.get(owner)
                self._failed[owner] = error
            self._forget(earlier)
            if not isinstance(error, StoreReadOnly):
                raise
            self._log_delay(error)  # who waits is told what is due
        finally:
            with self._lock:
                at_work.discard(owner)

    def _others_wait(self, owner: Scope, waiting: set[Scope]) -> bool:
        """Whether other owners wait for the same thread."""
        with self._lock:
            both = waiting if self._worker is not self._background else self._scheduled | self._due
            return not both <= {owner}

    def _if_ours(self, work: Callable[[Scope], None], owner: Scope) -> None:
        try:
            self._patiently(work, owner)
        except EmbedderMismatch as error:  # the store changed to another one: who uses that goes on
            self._log_delay(error)

    def _patiently(self, work: Callable[[Scope], None], owner: Scope) -> None:
        """Retry while others keep the store busy: no caller waits for this, and the store records what waits."""
        for tries_left in reversed(range(TRIES)):
            try:
                work(owner)
            except StoreBusy as error:
                if self._is_closed:  # who closes does not wait so long for each owner
                    self.abandon()
                if not tries_left or self._is_abandoned:
                    raise
                self._log_delay(error)
            else:
                return

    def _keep(self, owner: Scope) -> None:
        """Do everything that waits for one owner, in steps; callers go first between them."""
        left, was_tidy = Left(pages=True, jobs=False), owner in self._tidy
        visits = 0 if self._visits.rests(owner) else self._visits.waiting(owner)
        turn = TimeSlice(self._goes_on, lambda: self._others_wait(owner, self._scheduled))
        try:
            while (left.pages or visits > 0) and turn():
                left = self._step(owner, visits=visits > 0, in_a_hurry=self._background.is_waited_for)
                visits -= AT_A_TIME
        except StorageError as error:
            if not was_tidy:  # a count of visits is worth no error
                raise
            self._timer.set(owner, VISITS_SECONDS)  # also without visits: the time of a job may have been set here
            self._log_delay(error)
            return
        self._write_late_visits(owner)
        if left.jobs or self._runner.next_due(owner) is not None:  # also of kinds that no move asks for
            self._hire(owner)
        if visits > 0:
            self._visits.hasten(owner)
        if (left.pages or visits > 0) and self._goes_on():
            self._schedule(owner)  # behind the others
            return
        if self._goes_on():
            self._residency.keep(owner)
        self._tend_cold(owner)

    def _tend_cold(self, owner: Scope) -> None:
        """Move cold pages into the object store, and check again when a pack there is to be removed."""
        if self._is_closed or not self._goes_on():
            return
        try:
            seconds = self._cooler.tend(owner, self._goes_on)
        except StorageError as error:  # what is left is found again the next time
            self._log_delay(error)
            return
        if seconds is not None:
            self._timer.set(owner, max(seconds, RETRY_SECONDS))

    def _run_jobs(self, owner: Scope) -> None:
        """Run the due jobs, or leave them to workers."""
        if self._settings.jobs is JobsRun.WORKER:
            return
        self._run_due(owner)
        if self._goes_on():  # jobs move pages, thousands of them after a large import
            self._residency.keep(owner)

    def _run_due(self, owner: Scope) -> None:
        """Run the due jobs, and come back when the next one is due, after other waiting owners.

        A job that is still due afterwards cannot be finished, because its row is damaged: it is retried later.
        """
        last = None
        while (moment := self._runner.next_due(owner)) is not None and self._works_on():
            if (seconds := (moment - self._runner.clock()).total_seconds()) > 0:
                self._timer.set(owner, seconds)
                return
            finished = self._runner.take_turn(
                owner, TimeSlice(self._works_on, lambda: self._others_wait(owner, self._due))
            )
            if self._others_wait(owner, self._due) and self._works_on():
                self._hire(owner)
                return
            if moment == last or not finished:
                self._timer.set(owner, RETRY_SECONDS)
                return
            last = moment

    def _goes_on(self) -> bool:
        """Let callers go first, then return whether to go on."""
        self._background.give_way()
        return not self._is_abandoned

    def _works_on(self) -> bool:
        """Whether to run jobs; at the end of the process, jobs with a model are left to the next process."""
        self._worker.give_way()
        return not self._is_abandoned and not self._is_closing

    def _is_tidy(self, owner: Scope) -> bool:
        with self._vault.read(owner) as reader:
            waiting = reader.cubes(Kind.PAGE, tiers=[Tier.STM], marks=[None], first=1)
        if not waiting:
            self._note_tidy(owner)
        return not waiting

    def _is_rebuilt(self, owner: Scope) -> bool:
        with self._vault.read(owner) as reader:
            return stage_of(reader) is not None

    def _note_tidy(self, owner: Scope) -> bool:
        """Note that no page of the owner waits; returns whether that is new."""
        with self._lock:
            is_new = owner not in self._tidy
            self._tidy[owner] = True
        return is_new

    def _note_untidy(self, owner: Scope) -> None:
        with self._lock:
            self._tidy.pop(owner, None)

    def _step(self, owner: Scope, *, visits: bool = False, in_a_hurry: bool = False) -> Left:
        """Move some pages and write some of the waiting visits, or take the next step of a rebuild."""
        with self._vault.read(owner) as reader:
            stage = stage_of(reader)
        if stage and stage.phase is not Phase.PLACE:
            self._rebuilder.step(owner, stage)
            return Left(pages=True, jobs=False)
        with self._taken_visits(owner, AT_A_TIME if visits else 0) as counts, ExitStack() as undo:

            def settled() -> None:
                if self._note_tidy(owner):  # it is noted under the lock, before the commit
                    undo.callback(self._note_untidy, owner)

            left = self._mover.step(owner, counts, settled, in_a_hurry=in_a_hurry)
            undo.pop_all()
        return left

    @contextmanager
    def _taken_visits(self, owner: Scope, most: int) -> Iterator[Counts]:
        visits = self._visits.take(owner, most)
        with ExitStack() as undo:
            undo.callback(self._visits.give_back, owner, visits)
            away = self._cooler.bring_back(owner, visits)  # pages move, whether the object store answers or not
            yield {cube_id: visit for cube_id, visit in visits.items() if cube_id not in away}
            undo.pop_all()  # written

    def _log_delay(self, error: StorageError) -> None:
        what = {"store": self._vault.name, "error": type(error).__name__}
        message = "housekeeping of %(store)s put off: %(error)s"
        logger.warning(message, what, extra={"action": "housekeeping"} | what)
