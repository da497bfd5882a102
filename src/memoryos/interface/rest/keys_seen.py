"""KeysSeen: what a server knows of a store by asking for API keys: whether it had some, and that it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from memoryos.memory_os import MemoryOS

T = TypeVar("T")


class KeysSeen:
    """What is known of the keys of a store. Until it was asked, it is taken to have some."""

    def __init__(self) -> None:
        self.exist = True
        self._answers = 0

    def look(self, store: MemoryOS) -> None:
        """Ask the store. Raises StorageError, and what was known stays."""
        self.exist = store.keys.exist()
        self.answered()

    def answered(self) -> None:
        """Record that the store has said something of a key. Threads may share this: any change tells."""
        self._answers += 1

    async def wait(self, asking: Coroutine[Any, Any, T], seconds: float) -> T:
        """Wait for what asks the store, as long as it answers at least one request in so many seconds.

        Raises TimeoutError if it answers none. On a busy server requests wait for each other, and all are answered.
        """
        task, known = asyncio.ensure_future(asking), -1
        try:
            while not task.done() and known != self._answers:
                known = self._answers
                await asyncio.wait({task}, timeout=seconds)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            task.cancel()
