"""Replays: what requests with an Idempotency-Key were answered, so that a repeated one changes nothing.

Each process keeps the latest `MOST` for itself. An `add` needs none of this: the store itself keeps its keys for good,
for all processes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

from memoryos.interface.rest.problems import Refusing

MOST = 1_000
Request = tuple[str, ...]  #: who asked, for which operation, with which key

_RUNS = object()


class Replays:
    """The answers of the latest requests that had an idempotency key."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Request, tuple[str, Any]] = OrderedDict()  # what was asked, and the answer

    def once(self, request: Request, asked: str, work: Callable[[], Any]) -> Any:
        """The answer to this request, from the first time that it succeeded. Raises Refusing (409, 422)."""
        with self._lock:
            known = self._known.get(request)
            if known is None:
                self._known[request] = (asked, _RUNS)
        if known is not None:
            return _repeated(known, asked)
        try:
            result = work()
        except BaseException:
            with self._lock:
                self._known.pop(request, None)
            raise
        with self._lock:
            self._known[request] = (asked, result)
            self._known.move_to_end(request)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        return result


def _repeated(known: tuple[str, Any], asked: str) -> Any:
    if known[0] != asked:
        problem = "This idempotency key belongs to another request"
        raise Refusing(422, "KeyReused", problem, "Give each request a key of its own")
    if known[1] is _RUNS:
        raise Refusing(409, "StillRunning", "The first request with this key is running", "Repeat it in a moment")
    return known[1]
