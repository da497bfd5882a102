"""ProcessLock: a lock of a module, or of what all stores of a process share, which a forked child finds free.

A child has none of the threads that would release what they held at the fork. A lock of a store needs none of this:
no child may use a store that its parent opened.
"""

from __future__ import annotations

import os
from threading import Lock, get_ident
from types import TracebackType
from weakref import WeakSet

_locks: WeakSet[ProcessLock] = WeakSet()


class ProcessLock:
    """A lock for `with`. What it guards must be usable wherever a fork interrupts a thread that holds it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holder: int | None = None
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()
        self._holder = get_ident()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._holder = None
        finally:  # also after an interrupt
            self._lock.release()

    def begin_anew(self) -> None:
        """Be free, unless the thread that forked holds it."""
        if self._holder != get_ident():
            self._lock, self._holder = Lock(), None


def _begin_anew() -> None:
    for lock in list(_locks):
        lock.begin_anew()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_begin_anew)
