"""The OpenAI proxy while the database of its store is away: a chat goes on without memory, where no key is needed."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy.engine import URL

from memoryos import MemoryOS, load_settings
from memoryos.models.hashing import Hashing
from postgres.proxy import Proxy
from proxy.scripted_upstream import ScriptedUpstream, scripted_upstream
from served import PATIENCE, Served, serving, until

_SHORT = 0.2  # seconds; the driver waits 10 for a connection

CHAT = "/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "Where are my bees?"}]}


@dataclass(frozen=True)
class Chats:
    """A proxy whose database can go away."""

    wire: Proxy
    served: Served
    upstream: ScriptedUpstream
    database: URL

    def ask(self, path: str = CHAT, key: str = "sk-of-the-model-server") -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return self.served.http.post(path, params={"user": "ann"}, json=BODY, headers=headers)

    def go_away(self) -> None:
        self.wire.is_away = True
        self.wire.hang_up()


@pytest.fixture
def seconds() -> float:
    """How long a chat waits for memory."""
    return PATIENCE


@pytest.fixture
def chats(url: Any, seconds: float) -> Iterator[Chats]:
    with Proxy(url) as wire, scripted_upstream() as upstream:
        known = {"upstream": upstream.url, "busy_timeout_seconds": 1.0, "upstream_memory_seconds": seconds}
        settings = load_settings(embedder="hashing", **known)
        place = wire.url.render_as_string(hide_password=False)
        with closing(MemoryOS.open(place, settings=settings, embedder=Hashing())) as store, serving(store) as served:
            assert served.http.get("/health").status_code == 200  # it runs, and has looked for keys
            yield Chats(wire, served, upstream, url)
            wire.is_away = False
            wire.flows.set()


def test_without_keys_the_chat_goes_on_and_says_so(chats):
    chats.go_away()
    got = chats.ask()
    assert (got.status_code, got.headers.get("x-memoryos-status")) == (200, "unavailable; StoreUnreachable; not stored")
    assert chats.upstream.last.json == BODY
    assert chats.ask("/v1/embeddings").status_code == 200
    assert chats.ask("/v1/search").status_code == 503
    assert chats.ask("/mem0/search").status_code == 503
    chats.wire.is_away = False
    assert chats.ask().headers["x-memoryos-status"] == "nothing"


def test_with_keys_nobody_is_known_and_all_are_refused(chats):
    key = chats.served.store.keys.create("web").key
    assert chats.ask(key="sk-of-the-model-server").status_code == 401  # from here on, the server knows of keys
    chats.go_away()
    for told in (key, "sk-of-the-model-server"):
        got = chats.ask(key=told)
        assert (got.status_code, got.json()["error"]["code"]) == (503, "StoreUnreachable")
    assert not chats.upstream.got


@pytest.mark.parametrize("seconds", [_SHORT])
def test_a_database_that_accepts_and_never_answers_is_waited_for_shortly(chats):
    chats.wire.flows.clear()
    with ThreadPoolExecutor(16) as clients:
        told = [*clients.map(lambda _: chats.ask(), range(200))]
    assert {got.status_code for got in told} == {200}
    assert {got.headers["x-memoryos-status"] for got in told} == {"unavailable; TooLong; not stored"}
    chats.wire.flows.set()
    until(lambda: chats.ask().headers["x-memoryos-status"] == "nothing")
    until(lambda: not memory_threads())


@pytest.mark.parametrize("seconds", [_SHORT])
def test_with_keys_a_database_that_never_answers_is_told_soon(chats):
    key = chats.served.store.keys.create("web").key
    until(lambda: chats.ask("/v1/embeddings", key=key).status_code == 200)  # the server knows of keys
    chats.upstream.got.clear()
    chats.wire.flows.clear()
    for path in (CHAT, "/v1/embeddings"):
        got = chats.ask(path, key=key)
        assert (got.status_code, got.json()["error"]["code"]) == (503, "StoreUnreachable")
        assert got.headers["retry-after"] == "1"
    assert not chats.upstream.got
    chats.wire.flows.set()
    until(lambda: chats.ask(key=key).status_code == 200)
    until(lambda: not memory_threads())


@pytest.mark.parametrize("seconds", [_SHORT])
def test_an_exchange_is_stored_when_the_lock_is_gone(chats):
    chats.served.store.memory("ann").add("I keep my bees behind the mill.")
    chats.served.store.wait()
    with psycopg.connect(chats.database.set(drivername="postgresql").render_as_string(hide_password=False)) as other:
        other.execute("LOCK TABLE cubes IN ACCESS EXCLUSIVE MODE")
        assert chats.ask().headers["x-memoryos-status"] == "unavailable; TooLong"
    until(lambda: len(chats.served.store.memory("ann").pages.list()) == 2)


def memory_threads():
    """The threads that still do something for a request."""
    frames = sys._current_frames().values()
    return [frame for frame in frames if any("desk.py" in one.filename for one in traceback.extract_stack(frame))]
