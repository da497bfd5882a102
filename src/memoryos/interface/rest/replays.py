"""Replays: which requests with an Idempotency-Key were done, so that a repeated one changes nothing.

Each process keeps the latest `MOST` for itself, of each the ids and counts of its answer alone: no words and no secrets
outlive what is forgotten. An `add` needs none of this: the store itself keeps its keys for good, for all processes.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

from starlette.requests import Request as HttpRequest

from memoryos.errors import InvalidInput, KeyReused
from memoryos.interface.rest.problems import Refusing

IDEMPOTENCY_KEY = "idempotency-key"  #: the header
MOST = 1_000
KEY_CHARS = 256
_ID_CHARS = 128
_NAME = "Idempotency-Key"
Request = tuple[str, ...]  #: who asked, for which operation, with which key
Document = Mapping[str, Any]  #: of an answer


class Replays:
    """The latest requests with an idempotency key, and the ids and counts of their answers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._secret = secrets.token_bytes(32)
        self._running: dict[Request, bytes] = {}  # what is asked
        self._done: OrderedDict[Request, tuple[bytes, Document | None]] = OrderedDict()  # the latest last

    def once(
        self, request: Request, asked: bytes, work: Callable[[], Document | None], check: Callable[[], object]
    ) -> Document | None:
        """The answer to this request; of one that was done before, its ids and counts.

        `check` raises an error if who asks may not do it any more. Raises KeyReused, and Refusing (409).
        """
        hidden = hmac.digest(self._secret, asked, "sha256")  # it tells nothing of what was asked
        with self._lock:
            if request in self._running:
                _refuse_another(self._running[request], hidden)
                raise Refusing(409, "StillRunning", "The first request with this key is running", "Repeat it later")
            known = self._done.get(request)
            if known is None:
                self._running[request] = hidden
        if known is None:
            return self._first(request, hidden, work)
        check()
        _refuse_another(known[0], hidden)
        return known[1]

    def _first(self, request: Request, hidden: bytes, work: Callable[[], Document | None]) -> Document | None:
        try:
            answer = work()
            with self._lock:
                self._done[request] = (hidden, None if answer is None else _ids_and_counts(answer))
                if len(self._done) > MOST:
                    self._done.popitem(last=False)
        finally:
            with self._lock:
                del self._running[request]
        return answer


def idempotency_key(request: HttpRequest) -> str | None:
    """The key of a request; None without one. Raises InvalidInput."""
    keys = request.headers.getlist(IDEMPOTENCY_KEY)
    if len(keys) > 1:
        raise InvalidInput(_NAME, "is sent twice", "Send it once")
    if keys and not 0 < len(keys[0]) <= KEY_CHARS:
        raise InvalidInput(_NAME, f"has {len(keys[0]):,} characters", f"Pass 1 to {KEY_CHARS} characters")
    return keys[0] if keys else None


def _ids_and_counts(document: Document) -> Document:
    return {name: value for name, value in document.items() if _is_small(name, value)}


def _is_small(name: str, value: Any) -> bool:
    if name == "ids":
        return isinstance(value, list) and all(_is_small("id", one) for one in value)
    if name == "id" or name.endswith("_id"):
        return isinstance(value, str) and len(value) <= _ID_CHARS
    return isinstance(value, int | float)


def _refuse_another(known: bytes, asked: bytes) -> None:
    if not hmac.compare_digest(known, asked):
        raise KeyReused
