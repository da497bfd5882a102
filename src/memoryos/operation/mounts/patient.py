"""Patient: a mount that is opened when it is first asked, and left alone for a while when it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic

from memoryos.cube import Origin, Turn
from memoryos.errors import InvalidInput, StorageError
from memoryos.operation.mounts.adapter import Found, MemoryAdapter, Wanted

AWAY_SECONDS = 30.0  # to find out again that a server is away may take seconds, of each search


class Patient:
    """An adapter around another one. Threads may share it."""

    def __init__(self, name: str, opener: Callable[[], MemoryAdapter]) -> None:
        self._name = name
        self._opener = opener
        self._lock = Lock()
        self._adapter: MemoryAdapter | None = None
        self._failed = -AWAY_SECONDS  # when it did last
        self._is_closed = False

    def open(self) -> MemoryAdapter:
        """The adapter itself. Raises whatever opening it does."""
        with self._lock:
            if self._is_closed:
                raise StorageError(f"{self._name!r} is not mounted any more")
            if self._adapter is None:
                self._adapter = self._opener()
            return self._adapter

    def query(self, wanted: Wanted) -> Found:
        """What it has. Raises StorageError at once while it is left alone, or when it cannot be opened."""
        if monotonic() - self._failed < AWAY_SECONDS:
            raise StorageError(f"{self._name!r} did not answer a moment ago, and is left alone for a while")
        try:
            return self._reached().query(wanted)
        except StorageError:
            self._failed = monotonic()
            raise

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
        """Let it do what waits, if it was ever asked."""
        if self._adapter is not None:
            self._adapter.sync()

    def close(self) -> None:
        """Release it. Calling it twice is harmless."""
        with self._lock:
            self._is_closed = True
            adapter, self._adapter = self._adapter, None
        if adapter is not None:
            adapter.close()
