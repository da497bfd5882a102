"""Load on a real server: clients that add and search at once, in which nothing fails and nothing is lost."""

from __future__ import annotations

import asyncio
from contextlib import closing

import pytest

from contract import server
from memoryos import MemoryOS, load_settings
from memoryos.bench.load_calls import user_of
from memoryos.bench.load_clients import play_clients
from memoryos.bench.load_threads import play_threads
from memoryos.models.hashing import Hashing
from served import serving

CLIENTS, LONG_CLIENTS = 16, 64
SECONDS = 0.5


@pytest.fixture
def store(back_end, tmp_path):
    place = tmp_path / "memory.db" if back_end == "sqlite" else server.store_of(tmp_path).render_as_string()
    with closing(MemoryOS.open(place, settings=load_settings(embedder="hashing"), embedder=Hashing())) as store:
        yield store
    if back_end != "sqlite":
        server.give_back(tmp_path)


def stored(store, tenant, clients):
    memories = [store.memory(user_of(number), tenant=tenant) for number in range(clients)]
    return {user_of(number): [page.id for page in one.pages.list()] for number, one in enumerate(memories)}


def test_many_clients_at_once_lose_nothing(store, long):
    clients = LONG_CLIENTS if long else CLIENTS
    keys = [store.keys.create(f"k{n}", tenant="acme", users=[user_of(n)]).key for n in range(clients)]
    with serving(store, per_minute=10**9) as api:
        done = asyncio.run(play_clients(api.url, keys, SECONDS))
    assert done.errors == {}
    assert len(done.ids) == clients
    assert stored(store, "acme", clients) == done.ids, "what was acknowledged is there, in its order, and nothing else"
    assert len(done.ms["add"]) >= clients


@pytest.mark.once
def test_an_answer_that_is_none_ends_a_client_and_is_told(store):
    keys = [store.keys.create(f"k{n}", users=[user_of(n)]).key for n in range(2)]
    with serving(store, per_minute=5) as api:  # two calls of the warm-up, and three more
        done = asyncio.run(play_clients(api.url, keys, 60.0))
    assert sum(done.errors.values()) == 2
    assert all(kind.endswith("AnswerFailed 429 TooManyRequests") for kind in done.errors)


@pytest.mark.once
def test_the_same_calls_in_python_and_then_none_that_adds(store):
    told = []

    def note():
        told.append(sum(map(len, stored(store, "acme", 8).values())))

    done = play_threads(store, "acme", 8, 0.0, 0.0, note)  # no time: each client calls once in each part
    assert (done.errors, stored(store, "acme", 8)) == ({}, done.ids)
    assert sum(map(len, done.ms.values())) == 8, "the calls of the first part, of which times are kept"
    assert told == [8, sum(map(len, done.ids.values()))], "what the calls of the warm-up added, and the others"


@pytest.mark.once
def test_clients_go_on_without_an_add(store):
    keys, told = [store.keys.create(f"k{n}", users=[user_of(n)]).key for n in range(2)], []
    with serving(store, per_minute=10**9) as api:
        ready = lambda: told.append(stored(store, "default", 2))  # noqa: E731
        done = asyncio.run(play_clients(api.url, keys, 0.1, 0.1, ready))
    assert (done.errors, told[1]) == ({}, done.ids)
