"""OneReader: lets one thread or task at a time take a piece of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from memoryos.errors import Refused


class OneReader:
    """Refuses who comes while another waits: a piece goes to one reader, and the other would wait for ever."""

    def __init__(self) -> None:
        self._lock = Lock()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read within the block. Raises Refused while another thread or task does."""
        if not self._lock.acquire(blocking=False):
            told = "the answer is being read by another thread or task: read each stream in one place"
            raise Refused(told)
        try:
            yield
        finally:
            self._lock.release()
