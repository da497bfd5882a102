"""RestServer: the application behind a socket, until a signal ends it."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import uvicorn

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.patience import apart
from memoryos.interface.rest.added_routes import AddedRoutes
from memoryos.interface.rest.request_guard import log
from memoryos.interface.rest.rest_app import rest_app
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.timely_protocol import TimelyProtocol
from memoryos.memory_os import MemoryOS

_KEEP_ALIVE = 5  # seconds between two requests of one connection
_WAITING = 128  # connections that are not accepted yet


@dataclass(frozen=True, slots=True)
class RestServer:
    """A server that is bound to an address."""

    store: MemoryOS
    limits: RestLimits
    socket: socket.socket
    added: AddedRoutes | None = None  #: of another door

    @classmethod
    def bound(cls, store: MemoryOS, host: str, port: int, limits: RestLimits, added: AddedRoutes | None = None) -> Self:
        """Bind to an address. Raises InvalidInput if it is taken, or open to others while the store has no key."""
        family, address = _resolved(host, port)
        if not ipaddress.ip_address(address[0].partition("%")[0]).is_loopback and not store.keys.exist():
            fix = "Create a key with `memoryos keys create`, or leave --host out"
            raise InvalidInput("--host", f"{host} is open to other machines, and the store has no API key", fix)
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(_WAITING)
        except OSError as error:
            made.close()
            problem = f"{host}:{port} cannot be used: {error.strerror}"
            raise InvalidInput("--port", problem, "Name another port; 0 finds a free one") from None
        return cls(store, limits, made, added)

    @property
    def url(self) -> str:
        """Where it answers."""
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def run(self) -> None:
        """Answer until SIGTERM or SIGINT, then complete the requests that run, as long as the limits allow."""
        with _signals_noted(), _logged():
            apart(lambda: self.server().run(sockets=[self.socket]))  # requests are no part of the call that serves them

    def server(self) -> uvicorn.Server:
        """The server of uvicorn, to be run with the socket."""
        config = uvicorn.Config(
            rest_app(self.store, self.limits, self.added),
            http=TimelyProtocol.within(self.limits.head_seconds),
            ws="none",
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="on",
            limit_concurrency=self.limits.connections,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=max(1, round(self.limits.closing_seconds)),
        )
        return uvicorn.Server(config)


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


@contextmanager
def _logged() -> Iterator[None]:
    """Write the lines of the log to standard error, as JSON Lines."""
    handler, level, goes_on = logging.StreamHandler(sys.stderr), log.level, log.propagate
    handler.setFormatter(logging.Formatter("%(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = goes_on
