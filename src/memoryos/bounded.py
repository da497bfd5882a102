"""Bounded: what a process remembers of owners and of what it decided, which must not grow as long as it runs."""

from __future__ import annotations

from threading import Lock
from typing import TypeVar

MOST = 50_000  # entries, of a few hundred bytes each

K = TypeVar("K")
V = TypeVar("V")


class Bounded(dict[K, V]):
    """A dict of at most so many entries: the one that came first leaves. Threads may share it."""

    def __init__(self, most: int = MOST) -> None:
        super().__init__()
        self._most = most
        self._setting = Lock()

    def __setitem__(self, key: K, value: V) -> None:
        with self._setting:
            super().__setitem__(key, value)
            while len(self) > self._most:
                super().pop(next(iter(self)), None)
