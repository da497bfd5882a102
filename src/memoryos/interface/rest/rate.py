"""Rate: how often a caller may ask. Each process counts for itself."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from memoryos.interface.rest.problems import Refusing

MOST_CALLERS = 10_000  # of whom the server knows when they last asked


class Rate:
    """A bucket for each caller: it holds the requests of a minute, and fills as time goes by."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._lock = Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests left, and when

    def take(self, caller: str) -> None:
        """Count a request. Raises Refusing (429), which says when to ask again."""
        with self._lock:
            now = self._clock()
            left, since = self._left.pop(caller, (self._most, now))
            left = min(self._most, left + (now - since) * self._most / 60)
            self._left[caller] = (left - 1 if left >= 1 else left, now)
            if len(self._left) > MOST_CALLERS:
                self._left.popitem(last=False)
        if left < 1:
            waits = max(1, round((1 - left) * 60 / self._most))
            fix = f"Ask again in {waits} seconds"
            raise Refusing(429, "TooManyRequests", "There are too many requests", fix, {"Retry-After": str(waits)})
