"""UntoldRefusals: errors of exchanges that could not be stored, after the answer was given."""

from __future__ import annotations

import logging
from collections import deque
from threading import Lock

from memoryos.caller import Caller
from memoryos.errors import MemoryOSError

MOST_UNTOLD = 64  # the latest; a caller who never waits hears of none

logger = logging.getLogger(__name__)


class UntoldRefusals:
    """Refusals that wait for their caller: no other one hears of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: deque[tuple[Caller, MemoryOSError]] = deque(maxlen=MOST_UNTOLD)

    def add(self, caller: Caller, error: MemoryOSError) -> None:
        """Keep a refusal for its caller, and log its class."""
        name = type(error).__name__
        logger.error("answer not stored: %s", name, extra={"action": "respond", "error": name})
        with self._lock:
            self._found.append((caller, error))

    def take(self, caller: Caller) -> MemoryOSError | None:
        """Remove the refusals of a caller, and return the first."""
        with self._lock:
            mine = [error for one, error in self._found if one == caller]
            others = [one for one in self._found if one[0] != caller]
            self._found.clear()
            self._found.extend(others)
        return mine[0] if mine else None
