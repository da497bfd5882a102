"""What the tests of the proxy share: a model server, a store behind a server, and the official client.

Tests that need no settings of their own share one server, and each has a user of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from contract import server
from memoryos import Memory, MemoryOS, load_settings
from memoryos.models.embedder import Embedder
from memoryos.models.hashing import Hashing
from proxy.scripted_upstream import ScriptedUpstream, scripted_upstream
from served import PATIENCE, Served, serving

USERS = (f"user {number} 安" for number in count(1))


@dataclass(frozen=True)
class Proxied:
    """A running proxy: the model server behind it, the store, and the official client."""

    upstream: ScriptedUpstream
    served: Served
    openai: openai.OpenAI
    user: str = "ann"

    @property
    def store(self) -> MemoryOS:
        return self.served.store

    @property
    def memory(self) -> Memory:
        return self.store.memory(self.user)

    def client(self, *, key: str = "anything", is_named: bool = True, **headers: str) -> openai.OpenAI:
        """The official client, as a program has it that knows a base URL and a user."""
        return self.openai.with_options(
            api_key=key,
            default_query={"user": self.user} if is_named else {},
            default_headers={f"X-MemoryOS-{name}": value for name, value in headers.items()},
        )

    def chat(self, *said: str, stream: bool = False, **more: Any) -> Any:
        """Ask in a chat: its messages are in turn those of the user and the assistant."""
        roles = ("user", "assistant")
        messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(said)]
        return self.client().chat.completions.with_raw_response.create(
            model="some-model", messages=messages, stream=stream, **more
        )

    def post(self, body: Any, path: str = "/chat/completions", **headers: str) -> httpx.Response:
        """Ask without the client."""
        content = {"content": body} if isinstance(body, bytes | str) else {"json": body}
        told = {"Content-Type": "application/json", **headers}
        return self.served.http.post(f"/v1{path}", params={"user": self.user}, headers=told, **content)

    def pages(self) -> list[str]:
        """What is stored of the user, oldest first."""
        self.store.wait()
        return [page.text for page in self.memory.pages.list()]


@contextmanager
def proxied(
    scripted: ScriptedUpstream,
    back_end: str,
    folder: Path,
    *,
    limits: Any = None,
    embedder: Embedder | None = None,
    **settings: Any,
) -> Iterator[Proxied]:
    """A proxy in front of the scripted model server."""
    with ExitStack() as stack:
        place: Any = folder / "memory.db"
        if back_end != "sqlite":
            place = server.store_of(folder).render_as_string()
            stack.callback(server.give_back, folder)
        policies = settings.pop("policies", None)
        known = load_settings(
            **{"embedder": "hashing", "upstream": scripted.url, "upstream_memory_seconds": PATIENCE, **settings}
        )
        store = MemoryOS.open(place, settings=known, embedder=embedder or Hashing(), policies=policies)
        stack.enter_context(closing(store))
        served = stack.enter_context(serving(store, **(limits or {})))
        client = openai.OpenAI(base_url=f"{served.url}/v1", api_key="anything", max_retries=0, timeout=PATIENCE)
        yield Proxied(scripted, served, stack.enter_context(client))


@pytest.fixture(scope="module")
def scripted() -> Iterator[ScriptedUpstream]:
    with scripted_upstream() as made:
        yield made


@pytest.fixture
def upstream(scripted: ScriptedUpstream) -> ScriptedUpstream:
    """The model server, which has said nothing yet."""
    scripted.begin_again()
    return scripted


@pytest.fixture(scope="module")
def shared(back_end: str, tmp_path_factory: pytest.TempPathFactory, scripted: ScriptedUpstream) -> Iterator[Proxied]:
    with proxied(scripted, back_end, tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def proxy(shared: Proxied, upstream: ScriptedUpstream) -> Proxied:
    """The shared proxy, with a new user."""
    return replace(shared, upstream=upstream, user=next(USERS))


@pytest.fixture
def begin(back_end: str, tmp_path: Path, upstream: ScriptedUpstream) -> Iterator[Callable[..., Proxied]]:
    """begin(limits=..., **settings): a proxy of its own."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(proxied(upstream, back_end, tmp_path, **settings))
