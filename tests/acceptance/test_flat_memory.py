"""Flat memory: the server keeps nothing of a request that changes nothing, and little of one that is undone."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from mcp_session import McpSession, over_http
from memoryos import Scope
from memoryos.interface.mcp.http_door import PATH, mcp_app
from memoryos.operation.index import turns
from proxy.conftest import Proxied, proxied
from proxy.scripted_upstream import scripted_upstream
from served import PATIENCE, Served, serving

pytestmark = pytest.mark.once

WARM_UP, ASKED, LONG_ASKED = 12, 30, 200
PASSING = {  # of which others keep some: asyncio 100 cancelled timers, urllib 128 addresses, SQLite 128 statements
    *("TimerHandle", "Context", "ReferenceType", "SplitResult", "Statement", "builtin_function_or_method"),
}
CUT_OFF = b"POST /v1/search HTTP/1.1\r\nHost: %b\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"


@dataclass(frozen=True)
class Doors:
    """A server, behind all its doors."""

    proxy: Proxied
    mcp: McpSession

    @property
    def api(self) -> Served:
        return self.proxy.served

    def chat(self, *, stream: bool) -> None:
        body = {"model": "m", "messages": [{"role": "user", "content": "What do I keep?"}], "stream": stream}
        answer = self.proxy.post(body, **{"X-MemoryOS-Memory": "read"})
        assert answer.headers["X-MemoryOS-Status"] == "used"

    def add_and_delete(self) -> None:
        (page,) = self.api("POST", "/memories", {"query": "I keep bees."})["ids"]
        assert self.api.ask("DELETE", f"/memories/{page}").is_success

    def leave(self) -> None:
        """Begin a request and go away."""
        with self.api.connected() as connection:
            connection.sendall(CUT_OFF % self.api.url.removeprefix("http://").encode())


REQUESTS: dict[str, tuple[int | None, Callable[[Doors], Any]]] = {  # with the status of each answer
    "search": (200, lambda doors: doors.api.ask("POST", "/search", {"query": "bees"})),
    "context": (200, lambda doors: doors.api.ask("POST", "/context", {"query": "bees"})),
    "pages": (200, lambda doors: doors.api.ask("GET", "/pages")),
    "keyed": (
        201,
        lambda doors: doors.api.ask("POST", "/memories", {"query": "I sail."}, headers={"Idempotency-Key": "one"}),
    ),
    "malformed": (422, lambda doors: doors.api.ask("POST", "/search", {"query": 1})),
    "missing": (404, lambda doors: doors.api.ask("GET", "/pages/nothing")),
    "wrong key": (401, lambda doors: doors.api.ask("GET", "/pages", key="wrong")),
    "metrics": (200, lambda doors: doors.api.http.get("/metrics")),
    "mem0": (200, lambda doors: doors.api.http.post("/mem0/search", json={"query": "bees", "user_id": "ann"})),
    "add and delete": (None, Doors.add_and_delete),
    "gone": (None, Doors.leave),
    "mcp": (None, lambda doors: doors.mcp.told("search", query="bees")),
    "chat": (None, lambda doors: doors.chat(stream=False)),
    "streamed chat": (None, lambda doors: doors.chat(stream=True)),
}


@pytest.fixture(scope="module")
def doors(tmp_path_factory):
    with ExitStack() as stack:
        stack.enter_context(pytest.MonkeyPatch.context()).setattr(turns, "MOST_BURIED", 5)
        scripted, folder = stack.enter_context(scripted_upstream()), tmp_path_factory.mktemp("flat")
        proxy = stack.enter_context(proxied(scripted, "sqlite", folder, limits={"per_minute": 10**9, "threads": 2}))
        for text in ("I keep bees in Lisbon.", "My sister sails.", "I moved to Oslo."):
            proxy.memory.add(text)
        told = stack.enter_context(serving(proxy.store, partial(mcp_app, default=Scope("ann"))))
        yield Doors(proxy, stack.enter_context(over_http(f"{told.url}{PATH}")))


def test_the_server_keeps_nothing_of_a_request(doors, long):
    asked = LONG_ASKED if long else ASKED
    for name, (status, ask) in REQUESTS.items():
        for _ in range(WARM_UP):
            answer = ask(doors)
            assert status is None or answer.status_code == status, name
    before = _objects(doors)
    for _, ask in REQUESTS.values():
        for _ in range(asked):
            ask(doors)
    end = time.monotonic() + PATIENCE
    while kept := {name: more for name, more in (_objects(doors) - before).items() if more >= asked}:
        assert time.monotonic() < end, kept  # until then, the last request may not be over


def _objects(doors: Doors) -> Counter[str]:
    """How many objects of each type are in this process: the server, the clients and the model server."""
    doors.proxy.upstream.begin_again()
    doors.proxy.store.wait()
    gc.collect()
    return Counter(name for one in gc.get_objects() if (name := type(one).__name__) not in PASSING)
