"""Scope timer: a timer that calls back for scopes with future work."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock, RLock, Thread
from weakref import WeakMethod, finalize

from memoryos.scope import Scope

_SAME = 0.05  # seconds: an earlier time that is no more than this earlier starts no other thread
LONGEST_WAIT = 86_400.0  # seconds, then it looks again: no thread can wait for centuries


class ScopeTimer:
    """Calls `call_back` with each scope at its time, from its own thread; the earliest time of a scope counts."""

    def __init__(self, call_back: Callable[[Scope], None]) -> None:
        self._call_back = call_back
        self._lock = Lock()
        self._calling = RLock()  # so that a callback may close the timer
        self._times: dict[Scope, float] = {}
        self._queue: list[tuple[float, int, Scope]] = []  # with a number, for scopes have no order
        self._set = 0
        self._cancel: Callable[[], object] | None = None  # ends the thread that waits
        self._is_closed = False

    def set(self, scope: Scope, seconds: float) -> None:
        """Call back for the scope after that many seconds."""
        at = time.monotonic() + max(0.0, seconds)
        with self._lock:
            if self._is_closed or self._times.get(scope, at + 1) <= at + _SAME:
                return
            self._times[scope] = at
            self._set += 1
            heapq.heappush(self._queue, (at, self._set, scope))
            if self._queue[0][1] == self._set:  # the thread that waits for an earlier time goes on
                self._wind()

    def close(self) -> None:
        """Stop the timer; return when a running callback has ended."""
        with self._lock:
            self._is_closed = True
            if self._cancel:
                self._cancel()
        with self._calling:
            pass

    def _wind(self) -> None:
        """Start a thread that waits for the earliest time. It does not keep an unreferenced timer alive."""
        if self._cancel:
            self._cancel()
        if self._queue and not self._is_closed:
            ends: SimpleQueue[None] = SimpleQueue()  # in C: whoever collects garbage may put
            self._cancel = forgotten = finalize(self, ends.put, None)
            forgotten.atexit = False
            seconds = min(max(0.0, self._queue[0][0] - time.monotonic()), LONGEST_WAIT)
            Thread(target=_wait, args=(ends, seconds, WeakMethod(self._due)), daemon=True).start()

    def _due(self) -> None:
        with self._calling:
            for scope in self._taken():
                if not self._is_closed:
                    self._call_back(scope)

    def _taken(self) -> list[Scope]:
        """The scopes that are due."""
        due: list[Scope] = []
        with self._lock:
            while self._queue and self._queue[0][0] <= time.monotonic():
                at, _, scope = heapq.heappop(self._queue)
                if self._times.get(scope) == at:
                    del self._times[scope]
                    due.append(scope)
            self._wind()
        return due


def _wait(ends: SimpleQueue[None], seconds: float, due: WeakMethod[Callable[[], None]]) -> None:
    """Call back after that many seconds, unless the queue ends the wait."""
    try:
        ends.get(timeout=seconds)
    except Empty:
        if call_back := due():
            call_back()
