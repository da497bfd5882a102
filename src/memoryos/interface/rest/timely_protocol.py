"""TimelyProtocol: the HTTP of uvicorn, which closes a connection whose next request does not arrive in time.

Where there are too many connections, those that have waited longest for a request make room for the others.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol


class TimelyProtocol(H11Protocol):
    """One connection. From its begin, and from the end of each answer, the headers of a request have a deadline."""

    head_seconds = 30.0
    idle_seconds = 1.0  #: for which a connection without a request stays, however many there are
    waiting: ClassVar[dict[TimelyProtocol, float]]  #: since when each awaits a request, the longest first
    _deadline: asyncio.TimerHandle | None = None

    @classmethod
    def within(cls, seconds: float) -> type[TimelyProtocol]:
        """The protocol with another deadline."""
        return type("TimelyProtocol", (cls,), {"head_seconds": seconds, "waiting": {}})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._await_head()
        self._make_room()

    def handle_events(self) -> None:
        """Read what has arrived."""
        self._make_room()
        super().handle_events()
        if self._is_answering():
            self._forget_deadline()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        self._await_head()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(self.head_seconds, self._close)
        self.waiting[self] = self.loop.time()

    def _make_room(self) -> None:
        """Close connections that ask nothing, as long as there are so many that requests are refused."""
        most, latest = self.limit_concurrency, self.loop.time() - self.idle_seconds
        while most is not None and len(self.connections) >= most:
            idlest = next((one for one in self.waiting if one is not self), None)
            if idlest is None or self.waiting[idlest] > latest:
                return
            idlest._leave()

    def _leave(self) -> None:
        self._forget_deadline()
        self.connections.discard(self)  # from now on, and not only when its end is noticed
        self.transport.close()

    def _forget_deadline(self) -> None:
        self.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _is_answering(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _close(self) -> None:
        if not self._is_answering():
            self.transport.close()
