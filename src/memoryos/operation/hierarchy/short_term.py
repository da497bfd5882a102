"""STM: a queue of the latest pages, first in, first out (MemoryOS paper, section 3.1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Entry


class ShortTerm:
    """The latest pages of one owner, oldest first."""

    def __init__(self, pages: Iterable[Entry], capacity: int) -> None:
        self._pages = deque(pages)  # oldest first
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

    def refresh(self, cube: MemCube) -> None:
        """Put a newer value of a page in its place, if it is here."""
        for index, page in enumerate(self._pages):
            if page.cube.id == cube.id:
                self._pages[index] = replace(page, cube=cube)
