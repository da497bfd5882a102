"""Lazy mount: a mount that is opened at its first use, and skipped for a while after a failure.

A caller does not wait forever: if a server takes a question and does not answer, the question continues in the
background, and its answer is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from threading import Lock, Thread
from time import monotonic
from typing import TypeVar

from memoryos.cube import Turn
from memoryos.errors import InvalidInput, StorageError
from memoryos.kinds import Origin
from memoryos.operation.mounts.adapter import MemoryAdapter
from memoryos.operation.recall.offer import Found, Wanted

AWAY_SECONDS = 30.0  # to find out again that a server is away may take seconds, of each search

T = TypeVar("T")


class LazyMount:
    """A wrapper of an adapter that answers within a time limit. Threads may share it."""

    def __init__(self, name: str, opener: Callable[[], MemoryAdapter], seconds: float) -> None:
        self._name = name
        self._opener = opener
        self._seconds = seconds
        self._opening = Lock()  # which may take long; to close it takes none of that
        self._lock = Lock()
        self._adapter: MemoryAdapter | None = None
        self._failed = -AWAY_SECONDS  # when it did last
        self._is_closed = False

    def open(self) -> MemoryAdapter:
        """Return the adapter. Raises the errors of opening it."""
        with self._opening:
            if self._adapter is None and not self._is_closed:
                self._keep(self._opener())
            adapter = self._adapter
        if adapter is None:
            raise StorageError(f"{self._name!r} is not mounted any more")
        return adapter

    def _keep(self, adapter: MemoryAdapter) -> None:
        """Keep the opened adapter, unless this was closed meanwhile."""
        with self._lock:
            if not self._is_closed:
                self._adapter = adapter
                return
        adapter.close()

    def query(self, wanted: Wanted) -> Found:
        """Return its results. Raises StorageError if it is skipped, cannot be opened, or is too late."""
        if monotonic() - self._failed < AWAY_SECONDS:
            raise StorageError(f"{self._name!r} did not answer a moment ago and is skipped for a while")
        try:
            return self._in_time(lambda: self._reached().query(wanted))
        except StorageError:
            self._failed = monotonic()
            raise

    def _in_time(self, ask: Callable[[], T]) -> T:
        answer: Future[T] = Future()

        def run() -> None:
            try:
                answer.set_result(ask())
            except BaseException as error:  # noqa: BLE001 - who waits is to see it
                answer.set_exception(error)

        # In the context of who asks: it is the caller of both memories.
        Thread(target=copy_context().run, args=(run,), name=f"mount {self._name}", daemon=True).start()
        try:
            return answer.result(self._seconds)
        except TimeoutError:
            if answer.done():
                raise
            raise StorageError(f"{self._name!r} did not answer within {self._seconds:g} seconds") from None

    def _reached(self) -> MemoryAdapter:
        try:
            return self.open()
        except InvalidInput as error:  # such as a file that is not there yet
            raise StorageError(str(error)) from error

    def write(
        self, turns: Sequence[Turn], *, tags: Sequence[str], origin: Origin, idempotency_key: str | None
    ) -> list[str]:
        """Store a dialogue."""
        return self.open().write(turns, tags=tags, origin=origin, idempotency_key=idempotency_key)

    def sync(self) -> None:
        """Let it finish its waiting work, if it was ever used."""
        if self._adapter is not None:
            self._adapter.sync()

    def close(self) -> None:
        """Release it. A second call does nothing."""
        with self._lock:
            self._is_closed = True
            adapter, self._adapter = self._adapter, None
        if adapter is not None:
            adapter.close()
