"""Background: one thread for work that must happen but that no caller should wait for."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from threading import Event, Lock, local

from memoryos.caller import SYSTEM, acting
from memoryos.infrastructure.vault.patience import apart
from memoryos.operation.scheduler import forked_imports  # noqa: F401 - the tasks import modules

QUIET_SECONDS = 0.02  # without a call, and the callers are taken to be busy with something else

logger = logging.getLogger(__name__)


class Background:
    """Runs tasks one after the other, in the order of submission.

    With `patience_seconds`, a task lets callers go first: it begins once no call has been in flight for QUIET_SECONDS,
    or after that time, or when somebody waits for it. The thread is not a daemon: at the end of the program, tasks that
    have begun are finished.
    """

    def __init__(self, name: str, patience_seconds: float = 0.0) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"memoryos-{name}")
        self._patience = patience_seconds
        self._lock = Lock()
        self._pending: list[Future[None]] = []
        self._deadline = 0.0  # of the task that runs
        self._calls = 0  # in flight
        self._last_call = 0.0  # when the last one ended
        self._waiters = 0
        self._hurry = Event()  # somebody waits
        self._here = local()  # tasks of each thread that runs them itself

    @contextmanager
    def call(self) -> Iterator[None]:
        """Mark a call as in flight: tasks let it go first."""
        with self._lock:
            self._calls += 1
        try:
            yield
        finally:
            with self._lock:
                self._calls -= 1
                self._last_call = time.monotonic()

    def submit(self, task: Callable[[], None]) -> None:
        """Run the task after the earlier ones. At the end of the program, when no thread can start, run it here."""
        deadline = time.monotonic() + self._patience
        try:
            future = self._executor.submit(self._run, task, deadline)
        except RuntimeError:
            self._run_here(task)
            return
        with self._lock:
            self._pending = [*(one for one in self._pending if not _succeeded(one)), future]

    def _run_here(self, task: Callable[[], None]) -> None:
        """Run the task in this thread, and behind it, not within it, those that it submits."""
        if (running := getattr(self._here, "tasks", None)) is not None:
            running.append(task)
            return
        self._here.tasks = tasks = deque([task])
        try:
            while tasks:
                acting(SYSTEM, partial(_logged, tasks.popleft()))
        finally:
            self._here.tasks = None

    @property
    def unfinished(self) -> int:
        """The number of running and waiting tasks."""
        return sum(not future.done() for future in self._snapshot())

    @property
    def is_waited_for(self) -> bool:
        """Whether a caller waits for the tasks."""
        return self._hurry.is_set()

    def give_way(self) -> None:
        """Let callers go first; a long task calls this between its steps."""
        while not self._hurry.is_set() and (now := time.monotonic()) < self._deadline:
            idle = 0.0 if self._calls else now - self._last_call
            if idle >= QUIET_SECONDS:
                return
            self._hurry.wait(QUIET_SECONDS - idle)

    def wait(self, until: float = math.inf) -> bool:
        """Wait for all tasks until that time of time.monotonic(); return whether they are done.

        Tasks that tasks submit are included. Raises the first error of a task, once.
        """
        if not self._snapshot():  # as it mostly is
            return True
        errors: list[BaseException] = []
        with self._hurried():
            while pending := self._snapshot():
                done, _ = futures.wait(pending, _left(until))
                errors += self._take_errors(done)
                if time.monotonic() >= until:
                    break
            is_done = not self._snapshot()
        if errors:
            raise errors[0]
        return is_done

    def forget(self, error: BaseException) -> None:
        """Do not raise this error of a task: its work is done by now, or is tried again."""
        with self._lock:
            self._pending = [one for one in self._pending if not (one.done() and one.exception() is error)]

    def close(self) -> None:
        """Finish the submitted tasks and end the thread. Raises like `wait`."""
        with self._hurried():
            self._executor.shutdown(wait=True)
            self.wait()

    @contextmanager
    def _hurried(self) -> Iterator[None]:
        self._count_waiter(1)
        try:
            yield
        finally:
            self._count_waiter(-1)

    def _count_waiter(self, change: int) -> None:
        with self._lock:
            self._waiters += change
            if self._waiters:
                self._hurry.set()
            else:
                self._hurry.clear()

    def _run(self, task: Callable[[], None], deadline: float) -> None:
        self._deadline = deadline
        self.give_way()
        apart(lambda: acting(SYSTEM, lambda: _logged(task)))

    def _snapshot(self) -> list[Future[None]]:
        with self._lock:
            return list(self._pending)

    def _take_errors(self, done: Iterable[Future[None]]) -> list[BaseException]:
        """Drop finished tasks only now, so that another waiting thread sees them, too."""
        with self._lock:
            mine = [future for future in done if future in self._pending]
            self._pending = [future for future in self._pending if future not in mine]
        return [error for future in mine if (error := future.exception())]


def _left(until: float) -> float | None:
    return None if until == math.inf else max(0.0, until - time.monotonic())


def _succeeded(future: Future[None]) -> bool:
    return future.done() and future.exception() is None


def _logged(task: Callable[[], None]) -> None:
    try:
        task()
    except Exception as error:
        # No traceback: its last line may quote what a user said.
        logger.error(  # noqa: TRY400
            "background task failed: %s",
            type(error).__name__,
            extra={"action": "background", "error": type(error).__name__},
        )
        raise
