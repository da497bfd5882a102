"""BodyRoom: how many bytes of bodies a server has in memory at a time, of all requests together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memoryos.interface.rest.problems import Refusing

Take = Callable[[int], None]  #: notes more bytes of a body. Raises Refusing


class BodyRoom:
    """Counts them. One event loop uses it."""

    def __init__(self, most: int) -> None:
        """Allow so many bytes; a body that is there alone may have more."""
        self._most = most
        self._held = 0

    @contextmanager
    def seat(self) -> Iterator[Take]:
        """The place of one request, which gives back at its end what it took."""
        own = 0

        def take(size: int) -> None:
            nonlocal own
            if size and self._held > own and self._held + size > self._most:
                fix = "Send it again after the time of Retry-After"
                problem = "The bodies of other requests take all the memory that there is for them"
                raise Refusing(503, "TooManyBodies", problem, fix, {"Retry-After": "1", "Connection": "close"})
            own += size
            self._held += size

        try:
            yield take
        finally:
            self._held -= own
