"""One thread beside the caller: work that must happen, but that nobody should wait for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock

logger = logging.getLogger(__name__)


class Background:
    """Runs tasks one after the other, in the order they were given.

    The thread is not a daemon: at the end of the program what was begun is finished.
    """

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"memoryos-{name}")
        self._lock = Lock()
        self._pending: list[Future[None]] = []

    def submit(self, task: Callable[[], None]) -> None:
        """Run the task after those before it; at the end of the program, when no thread can start, run it here."""
        try:
            future = self._executor.submit(_logged, task)
        except RuntimeError:
            _logged(task)
            return
        with self._lock:
            self._pending = [*(one for one in self._pending if not _succeeded(one)), future]

    def wait(self) -> None:
        """Return when all tasks are done, also those that tasks gave. Raises the first error of one, once."""
        errors: list[BaseException] = []
        while pending := self._snapshot():
            for future in pending:
                future.exception()  # returns when the task is done
            errors += self._take_errors(pending)
        if errors:
            raise errors[0]

    def _snapshot(self) -> list[Future[None]]:
        with self._lock:
            return list(self._pending)

    def _take_errors(self, done: list[Future[None]]) -> list[BaseException]:
        """Drop what is done, only now: another thread that waits meanwhile must find it, too."""
        with self._lock:
            mine = [future for future in done if future in self._pending]
            self._pending = [future for future in self._pending if future not in mine]
        return [error for future in mine if (error := future.exception())]

    def close(self) -> None:
        """Finish what was given and end the thread. Raises like `wait`."""
        self._executor.shutdown(wait=True)
        self.wait()


def _succeeded(future: Future[None]) -> bool:
    return future.done() and future.exception() is None


def _logged(task: Callable[[], None]) -> None:
    try:
        task()
    except Exception as error:
        # No traceback: its last line may quote what a user said.
        logger.error("background task failed", extra={"action": "background", "error": type(error).__name__})  # noqa: TRY400
        raise
