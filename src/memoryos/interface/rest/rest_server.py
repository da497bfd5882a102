"""RestServer: the application behind a socket, until a signal ends it."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.patience import apart
from memoryos.interface.rest.closing_time import CLOSING, ClosingTime
from memoryos.interface.rest.rest_app import rest_app
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.timely_protocol import TimelyProtocol
from memoryos.interface.server_log import logged
from memoryos.memory_os import MemoryOS

Application = Callable[[MemoryOS, RestLimits], ASGIApp]  #: makes what answers the requests for a store

_WAITING = 128  # connections that are not accepted yet


@dataclass(frozen=True, slots=True)
class RestServer:
    """A server that is bound to an address."""

    app: ASGIApp
    limits: RestLimits
    socket: socket.socket

    @classmethod
    def bound(
        cls, store: MemoryOS, host: str, port: int, limits: RestLimits, application: Application = rest_app
    ) -> Self:
        """Bind to an address. Raises InvalidInput if it is taken, or open to others while the store has no key."""
        family, address = _resolved(host, port)
        if not ipaddress.ip_address(address[0].partition("%")[0]).is_loopback and not store.keys.exist():
            fix = "Create a key with `memoryos keys create`, or leave --host out"
            raise InvalidInput("--host", f"{host} is open to other machines, and the store has no API key", fix)
        # asyncio sends small writes at once only where the protocol is named: otherwise each answer waits 40 ms.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(_WAITING)
        except OSError as error:
            made.close()
            problem = f"{host}:{port} cannot be used: {error.strerror}"
            raise InvalidInput("--port", problem, "Name another port; 0 finds a free one") from None
        return cls(application(store, limits), limits, made)

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def run(self) -> float:
        """Answer until SIGTERM or SIGINT, then complete the requests that run, as long as the limits allow.

        Returns the seconds of that time which are left for the store.
        """
        server = self.server()
        with _signals_noted(), logged():
            apart(lambda: server.run(sockets=[self.socket]))  # requests are no part of the call that serves them
        return server.closing.left

    def server(self) -> EndingServer:
        """The server of uvicorn, to be run with the socket."""
        config = uvicorn.Config(
            self.app,
            http=TimelyProtocol.within(self.limits.head_seconds),
            ws="none",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            limit_concurrency=self.limits.connections,
            timeout_keep_alive=round(self.limits.head_seconds) + 1,  # what decides is the deadline of its next headers
            timeout_graceful_shutdown=max(1, round(self.limits.closing_seconds)),
        )
        return EndingServer(config, ClosingTime(self.limits.closing_seconds))


class EndingServer(uvicorn.Server):
    """A server of uvicorn that has one deadline for its end."""

    def __init__(self, config: uvicorn.Config, closing: ClosingTime) -> None:
        super().__init__(config)
        self.closing = closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, with the time of the application if that has one."""
        self.closing = self.lifespan.state.get(CLOSING, self.closing)
        self.closing.begin()
        await super().shutdown(sockets)


def _resolved(host: str, port: int) -> tuple[int, tuple[str, int]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InvalidInput("--host", f"{host!r} is no address of this machine", "Name one, or leave it out") from None
    return found[0], found[4][:2]  # type: ignore[return-value]


@contextmanager
def _signals_noted() -> Iterator[None]:
    """Let uvicorn, which raises a signal again after it has stopped, end well."""
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: None) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
