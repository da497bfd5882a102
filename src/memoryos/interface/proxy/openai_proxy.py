"""OpenAIProxy: the addresses of the OpenAI API that `memoryos serve` has in front of a model server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

from starlette.routing import BaseRoute, Route

from memoryos.config import Settings
from memoryos.interface.proxy.proxied_memory import RecentExchanges
from memoryos.interface.proxy.proxy_description import DESCRIBED
from memoryos.interface.proxy.proxy_door import ProxyDoor
from memoryos.interface.proxy.upstream import Upstream
from memoryos.interface.rest.desk import Desk
from memoryos.interface.rest.route import VERSION
from memoryos.interface.rest.server_metrics import ServerMetrics

# By address, the member of the body that holds the dialogue.
DIALOGUES = {f"{VERSION}/chat/completions": "messages", f"{VERSION}/responses": "input"}
EMBEDDINGS, MODELS = f"{VERSION}/embeddings", f"{VERSION}/models"


@dataclass(frozen=True, slots=True)
class OpenAIProxy:
    """The proxy of one model server."""

    upstream: Upstream
    storing: set[asyncio.Future[None]] = field(default_factory=set, hash=False)  #: of exchanges that were answered

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """The proxy of the settings; None if they name no model server. Raises InvalidInput."""
        upstream = Upstream.of(settings)
        return cls(upstream) if upstream else None

    @property
    def is_first(self) -> bool:
        """Whether its addresses are looked at before those of the REST API: a chat waits for that."""
        return True

    @property
    def foreign(self) -> tuple[str, ...]:
        """Begins of paths on which a request may have a key for the model server."""
        return (*DIALOGUES, EMBEDDINGS, MODELS)

    @property
    def unread(self) -> tuple[str, ...]:
        """Paths of requests whose bodies are passed on without being parsed: lists of tokens have many values."""
        return (EMBEDDINGS,)

    @property
    def openai(self) -> tuple[str, ...]:
        """Begins of paths whose errors are told as the OpenAI API tells them."""
        return self.foreign

    def routes(self, desk: Desk, metrics: ServerMetrics) -> Iterator[BaseRoute]:
        """The addresses. Responses that the model server keeps are not served: its key opens those of all users."""
        door = partial(ProxyDoor, desk, self.upstream, metrics, RecentExchanges(), self.storing)
        for path, dialogue in DIALOGUES.items():
            yield Route(path, door(path, dialogue=dialogue), methods=["POST"])
        for path, method in ((EMBEDDINGS, "POST"), (MODELS, "GET"), (f"{MODELS}/{{model:path}}", "GET")):
            yield Route(path, door(path), methods=[method])

    def described(self) -> dict[str, Any]:
        """Its addresses; what they take and answer beyond that, the OpenAI API describes."""
        return DESCRIBED

    async def close(self, seconds: float) -> None:
        """Close the connections to the model server, and wait so long for exchanges that are not stored yet.

        Those that are not stored then are given up, counted and logged.
        """
        await self.upstream.close()
        if self.storing:
            _, late = await asyncio.wait(self.storing, timeout=seconds)
            for one in late:
                one.cancel()
            await asyncio.gather(*late, return_exceptions=True)
