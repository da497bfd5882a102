"""STM: a queue of the latest pages, first in, first out (MemoryOS paper, section 3.1)."""

from __future__ import annotations

from collections import deque

from memoryos.infrastructure.vault.records import Entry


class ShortTerm:
    """The latest pages of one owner, oldest first."""

    def __init__(self, capacity: int) -> None:
        self._pages: deque[Entry] = deque()  # oldest first
        self._capacity = capacity

    @property
    def last(self) -> Entry | None:
        """The page that came in last."""
        return self._pages[-1] if self._pages else None

    def push(self, page: Entry) -> list[Entry]:
        """Take in a page; returns the pages that no longer fit, oldest first."""
        self._pages.append(page)
        overflow = len(self._pages) - self._capacity
        return [self._pages.popleft() for _ in range(overflow)]
