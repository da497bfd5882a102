"""A crowd at the server: more connections than it takes, many that say nothing, and many streams at the same time."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import pytest

from generation.scripted_model import Reply, scripted_model
from memoryos import MemoryOS, load_settings
from memoryos.models.hashing import Hashing
from served import PATIENCE, serving, until

pytestmark = pytest.mark.once

AT_ONCE = 200  # files that a process may have open are few
HEAD = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def store(tmp_path):
    settings = load_settings(embedder="hashing")
    with closing(MemoryOS.open(tmp_path / "memory.db", settings=settings, embedder=Hashing())) as store:
        yield store


async def answers(url, count, sent):
    """The first lines of the answers to so many connections that are open at the same time."""
    place = urlsplit(url)

    async def one():
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(sent)
        await asyncio.sleep(0)  # all connect before any reads
        said = await reader.read()
        writer.close()
        return said.partition(b"\r\n")[0].decode()

    return await asyncio.gather(*(one() for _ in range(count)))


def test_connections_beyond_the_limit_are_refused_politely_and_those_within_it_go_on(store, long):
    body = b'{"query": "bees"}'
    head = b"POST /v1/search?user=ann HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving(store, connections=50, body_seconds=3_600.0) as api, ExitStack() as held:
        asking = [held.enter_context(closing(api.connected())) for _ in range(49)]
        for connection in asking:
            length = b"Expect: 100-continue\r\nContent-Length: %d\r\n" % len(body)
            connection.sendall(head + b"Connection: close\r\n" + length + b"\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 100"), "its request runs"
        assert api.raw(HEAD + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 503")
        told = Counter[str]()
        for _ in range(50 if long else 1):  # 10,000 connections
            told += Counter(asyncio.run(answers(api.url, AT_ONCE, HEAD + b"Connection: close\r\n\r\n")))
        assert told.keys() == {"HTTP/1.1 503 Service Unavailable"}
        assert sum(told.values()) == (10_000 if long else AT_ONCE)
        for connection in asking:
            connection.sendall(body)
        assert {connection.recv(12) for connection in asking} == {b"HTTP/1.1 200"}
    with serving(store) as api:
        assert api.http.get("/health").status_code == 200


def test_connections_that_ask_nothing_shut_nobody_out(store):
    with serving(store, connections=50, head_seconds=3_600.0) as api, ExitStack() as held:
        assert api.http.get("/health").status_code == 200  # from here on it is connected
        silent = [held.enter_context(closing(api.connected())) for _ in range(60)]
        for connection in silent[::2]:
            connection.sendall(HEAD)
        end = time.monotonic() + PATIENCE
        while not api.raw(HEAD + b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 200"):
            assert time.monotonic() < end
        assert api.http.get("/health").status_code == 200
        silent[-2].sendall(b"Connection: close\r\n\r\n")
        assert silent[-2].recv(12) == b"HTTP/1.1 200"
        assert silent[0].recv(12) == b"", "those that have waited longest have left"


def test_many_streams_at_the_same_time_all_end(tmp_path, long):
    count = 200 if long else 20
    with scripted_model() as model:
        settings = load_settings(embedder="hashing", llm_model="m", llm_api_key="k", llm_base_url=model.url)
        for _ in range(count):
            model.will(Reply(("Hello ", "there.")))
        with (
            closing(MemoryOS.open(tmp_path / "memory.db", settings=settings, embedder=Hashing())) as store,
            serving(store, per_minute=10**6) as api,
        ):
            body = json.dumps({"query": "Hi!"}).encode()
            head = (
                "POST /v1/respond?user=ann HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            )
            told = asyncio.run(answers(api.url, count, head.encode() + body))
            assert Counter(told) == {"HTTP/1.1 200 OK": count}
            store.wait()
            assert store.memory("ann").pages.count() == count, "each answer is stored once it is told"


def test_bodies_that_together_take_too_much_memory_are_refused_until_there_is_room(store):
    body = json.dumps({"query": "bees", "min_score": 0.5}).encode().ljust(1_000)
    head = b"POST /v1/search?user=ann HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    whole = head + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + body
    with serving(store, bodies_bytes=2_500) as api, ExitStack() as held:
        slow = [held.enter_context(closing(api.connected())) for _ in range(2)]
        for connection in slow:
            connection.sendall(whole[:-1])
        until(lambda: "memoryos_requests_running 3.0" in api.http.get("/metrics").text)  # this one, too
        answer = api.raw(whole)
        assert answer.startswith(b"HTTP/1.1 503"), answer
        assert b"retry-after: 1\r\n" in answer.lower()
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["title"] == "TooManyBodies"
        slow[0].sendall(whole[-1:])
        assert b"".join(iter(lambda: slow[0].recv(65_536), b"")).startswith(b"HTTP/1.1 200")
        slow[1].close()
        until(lambda: "memoryos_requests_running 1.0" in api.http.get("/metrics").text)
        assert api.raw(whole).startswith(b"HTTP/1.1 200")
    with serving(store, bodies_bytes=500) as api:
        assert api.raw(whole).startswith(b"HTTP/1.1 200"), "one alone, whatever its size"
