"""A server for tests: an application, such as that of `memoryos serve`, behind a real socket, on its own thread."""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import Any

import httpx

from answers import check_answer
from memoryos import MemoryOS, load_settings
from memoryos.interface.added_doors import added_doors
from memoryos.interface.rest.rest_app import rest_app
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.rest_server import Application, RestServer
from memoryos.models.hashing import Hashing

SETTINGS = load_settings(embedder="hashing")
PATIENCE = 60.0  # seconds; nobody waits that long when all is well


@dataclass(frozen=True)
class Served:
    """A running server, the store behind it, and a client without a key."""

    store: MemoryOS
    url: str
    http: httpx.Client

    def __call__(self, verb: str, path: str, body: Any = None, *, key: str | None = None, **query: Any) -> Any:
        """Ask, and return the document of the answer. The user is Ann unless the query names another one."""
        return self.ask(verb, path, body, key=key, **query).json()

    def ask(
        self, verb: str, path: str, body: Any = None, *, key: str | None = None, headers: Any = None, **query: Any
    ) -> httpx.Response:
        more = {"Authorization": f"Bearer {key}"} if key else {}
        query = {name: value for name, value in ({"user": "ann"} | query).items() if value is not None}
        told = headers.items() if isinstance(headers, dict) else headers or ()
        content = {} if body is None else {"json": body}
        answer = self.http.request(verb, "/v1" + path, params=query, headers=[*more.items(), *told], **content)
        check_answer(verb, path, answer)
        return answer

    def raw(self, sent: bytes) -> bytes:
        """Everything that the server says to these bytes."""
        with closing(self.connected()) as connection:
            connection.sendall(sent)
            return b"".join(iter(lambda: connection.recv(65_536), b""))

    def connected(self) -> socket.socket:
        host, port = self.url.removeprefix("http://").rsplit(":", 1)
        return socket.create_connection((host, int(port)), timeout=PATIENCE)


def opened(place: str) -> closing[MemoryOS]:
    """The store to serve; it is closed at the end of the block."""
    return closing(MemoryOS.open(place, settings=SETTINGS, embedder=Hashing()))


def logged(records: Iterable[logging.LogRecord], lines: int) -> list[str]:
    """What the server has logged, when it is so many lines: it writes each after its answer."""
    end = time.monotonic() + PATIENCE
    while len(told := [one.getMessage() for one in records if one.name == "memoryos.server"]) < lines:
        assert time.monotonic() < end, told
        time.sleep(0.01)
    return told


def until(holds: Callable[[], object]) -> None:
    """Wait for what the server does behind an answer."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


async def _until_it_should_exit(server: Any) -> None:
    """What uvicorn does until then, which looks ten times a second."""
    for tick in itertools.count():
        if await server.on_tick(tick):
            return
        await asyncio.sleep(0.01)


@contextmanager
def serving(store: MemoryOS, application: Application | None = None, **limits: Any) -> Iterator[Served]:
    """Serve a store until the end of the block."""
    made = application or partial(rest_app, added=added_doors(store.settings))
    bound = RestServer.bound(store, "127.0.0.1", 0, RestLimits(**{"closing_seconds": 1.0, **limits}), made)
    server = bound.server()
    server.main_loop = partial(_until_it_should_exit, server)
    thread = Thread(target=server.run, kwargs={"sockets": [bound.socket]})
    thread.start()
    try:
        with httpx.Client(base_url=bound.url, timeout=PATIENCE, trust_env=False, verify=False) as http:
            yield Served(store, bound.url, http)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        bound.socket.close()
