"""The alarm: comes back to scopes when there will be something to do for them."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from threading import Lock, RLock, Timer

from memoryos.scope import Scope


class Alarm:
    """Calls `ring` with each scope at its time, from a thread of its own; the earliest time for a scope counts."""

    def __init__(self, ring: Callable[[Scope], None]) -> None:
        self._ring = ring
        self._lock = Lock()
        self._ringing = RLock()  # so that who rings may close
        self._times: dict[Scope, float] = {}
        self._queue: list[tuple[float, int, Scope]] = []  # with a number, for scopes have no order
        self._set = 0
        self._timer: Timer | None = None
        self._is_closed = False

    def set(self, scope: Scope, seconds: float) -> None:
        """Ring for the scope after that many seconds."""
        at = time.monotonic() + max(0.0, seconds)
        with self._lock:
            if self._is_closed or self._times.get(scope, at + 1) <= at:
                return
            self._times[scope] = at
            self._set += 1
            heapq.heappush(self._queue, (at, self._set, scope))
            self._wind()

    def close(self) -> None:
        """Ring no more; returns when what rings has ended."""
        with self._lock:
            self._is_closed = True
            if self._timer:
                self._timer.cancel()
        with self._ringing:
            pass

    def _wind(self) -> None:
        """Let one timer run to the earliest time."""
        if self._timer:
            self._timer.cancel()
        if self._queue and not self._is_closed:
            self._timer = Timer(max(0.0, self._queue[0][0] - time.monotonic()), self._due)
            self._timer.daemon = True
            self._timer.start()

    def _due(self) -> None:
        with self._ringing:
            for scope in self._taken():
                if not self._is_closed:
                    self._ring(scope)

    def _taken(self) -> list[Scope]:
        """The scopes whose time has come."""
        due: list[Scope] = []
        with self._lock:
            while self._queue and self._queue[0][0] <= time.monotonic():
                at, _, scope = heapq.heappop(self._queue)
                if self._times.get(scope) == at:
                    del self._times[scope]
                    due.append(scope)
            self._wind()
        return due
