"""The OpenAI proxy while the database of its store is away: a chat goes on without memory, where no key is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from memoryos import MemoryOS, load_settings
from memoryos.models.hashing import Hashing
from postgres.proxy import Proxy
from proxy.scripted_upstream import ScriptedUpstream, scripted_upstream
from served import Served, serving

BODY = {"model": "m", "messages": [{"role": "user", "content": "Where are my bees?"}]}


@dataclass(frozen=True)
class Chats:
    """A proxy whose database can go away."""

    wire: Proxy
    served: Served
    upstream: ScriptedUpstream

    def ask(self, path: str = "/v1/chat/completions", key: str = "sk-of-the-model-server") -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}"}
        return self.served.http.post(path, params={"user": "ann"}, json=BODY, headers=headers)

    def go_away(self) -> None:
        self.wire.is_away = True
        self.wire.hang_up()


@pytest.fixture
def chats(url: Any) -> Iterator[Chats]:
    with Proxy(url) as wire, scripted_upstream() as upstream:
        settings = load_settings(embedder="hashing", upstream=upstream.url, busy_timeout_seconds=1.0)
        place = wire.url.render_as_string(hide_password=False)
        with closing(MemoryOS.open(place, settings=settings, embedder=Hashing())) as store, serving(store) as served:
            assert served.http.get("/health").status_code == 200  # it runs, and has looked for keys
            yield Chats(wire, served, upstream)
            wire.is_away = False


def test_without_keys_the_chat_goes_on_and_says_so(chats):
    chats.go_away()
    got = chats.ask()
    assert (got.status_code, got.headers.get("x-memoryos-status")) == (200, "unavailable; StoreUnreachable")
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
