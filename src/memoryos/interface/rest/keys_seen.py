"""KeysSeen: whether a store had API keys when a server last asked it."""

from __future__ import annotations

from memoryos.memory_os import MemoryOS


class KeysSeen:
    """What is known of the keys of a store. Until it was asked, it is taken to have some."""

    def __init__(self) -> None:
        self.exist = True

    def look(self, store: MemoryOS) -> None:
        """Ask the store. Raises StorageError, and what was known stays."""
        self.exist = store.keys.exist()
