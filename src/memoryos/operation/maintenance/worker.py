"""Worker: runs the jobs of a whole store, scope by scope, until it is told to stop.

Several may run, in one process or in many: each takes the jobs of a scope that no other works on. A notification wakes
it. It also looks for work regularly, to find jobs that are due at a certain time, and those of dead processes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from typing import TypeVar

from memoryos.caller import SYSTEM, acting
from memoryos.errors import StorageError
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.patience import apart
from memoryos.operation.maintenance.housekeeping import Housekeeping
from memoryos.scope import Scope

LOOK_AROUND_SECONDS = 30.0  # between looks for pages that nobody moves
REST_SECONDS = 1.0  # after an error of the store
LOOK_AGAIN_SECONDS = 0.05  # for owners whom a writer was at, when nobody comes back for them later
MOST_LOOKS = 40  # in vain

logger = logging.getLogger(__name__)

T = TypeVar("T")

Task = Callable[[], int]  # returns how many jobs it finished


@dataclass
class Worker:
    """Runs the jobs of one store."""

    vault: Vault
    housekeeping: Housekeeping

    def run(self, stop: Event, *, threads: int, poll_seconds: float | None) -> int:
        """Work until `stop` is set, or (None) until nothing is due; return how many jobs were finished.

        Without notifications, it looks for work every `poll_seconds`. A worker that stays retries after a StorageError;
        otherwise the error is raised.
        """
        shift = _Shift(self.vault, self.housekeeping, stop, stays=poll_seconds is not None)
        finished, running = 0, set[Future[int]]()
        with closing(self.vault.job_signal()) as signal, ThreadPoolExecutor(threads, "memoryos-worker") as pool:
            while not stop.is_set():
                if task := shift.next_task():
                    running.add(pool.submit(shift.do, task))
                if len(running) == threads or (running and not task and not shift.stays):
                    wait(running, return_when=FIRST_COMPLETED)
                elif not task:
                    if poll_seconds is not None:
                        signal.wait(poll_seconds, stop)
                    elif not shift.looks_again():
                        break
                ended = {future for future in running if future.done()}
                running -= ended
                finished += sum(future.result() for future in ended)
        return finished + sum(future.result() for future in running)


@dataclass
class _Shift:
    """The state of one call of `run`."""

    vault: Vault
    housekeeping: Housekeeping
    stop: Event
    stays: bool
    look_around: float = 0.0  #: when pages that nobody moves are looked for
    unsettled: list[Scope] = field(default_factory=list)  #: of those, who waits
    was_claimed: bool = False  #: whether the last task were jobs: they and lost pages take turns
    looks: int = 0  #: in vain, one after the other, while jobs were due

    def next_task(self) -> Task | None:
        """The next task that nobody else does, or None."""
        task = self._in_spite_of_the_store(self._found, None)
        self.looks = 0 if task else self.looks
        return task

    def looks_again(self) -> bool:
        """Whether jobs are due for an owner whose lock a writer may have held a moment ago; wait a moment for it."""
        self.looks += 1
        if self.looks > MOST_LOOKS or not self.vault.waiting():
            return False
        return not self.stop.wait(LOOK_AGAIN_SECONDS)

    def do(self, task: Task) -> int:
        """Do the task; return how many jobs were finished."""
        return self._in_spite_of_the_store(task, 0)

    def _found(self) -> Task | None:
        if time.monotonic() >= self.look_around:
            self.unsettled = self.housekeeping.in_turn(self.vault.unsettled())
            self.look_around = time.monotonic() + LOOK_AROUND_SECONDS
        claimed = None if self.unsettled and self.was_claimed else self.housekeeping.claim()
        self.was_claimed = claimed is not None
        if claimed:
            return partial(self.housekeeping.work, claimed[0], self._goes_on, claimed[1])
        return partial(self.housekeeping.work, self.unsettled.pop(0), self._goes_on) if self.unsettled else None

    def _goes_on(self) -> bool:
        return not self.stop.is_set()

    def _in_spite_of_the_store(self, call: Callable[[], T], otherwise: T) -> T:
        try:
            return apart(lambda: acting(SYSTEM, call))  # this goes on for days
        except StorageError as error:  # busy or full: later it may be done
            if not self.stays:
                raise
            logger.warning(
                "work put off: %s", type(error).__name__, extra={"action": "worker", "error": type(error).__name__}
            )
            self.stop.wait(REST_SECONDS)
            return otherwise
