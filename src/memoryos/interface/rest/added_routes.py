"""AddedRoutes: addresses of another door that the same server answers, with the same keys and limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from starlette.routing import BaseRoute

from memoryos.interface.rest.desk import Desk
from memoryos.interface.rest.server_metrics import ServerMetrics


class AddedRoutes(Protocol):
    """What a door beside the REST addresses gives the server."""

    @property
    def is_first(self) -> bool:
        """Whether its addresses, of which there are few, are tried before those of the REST API."""
        ...

    @property
    def foreign(self) -> tuple[str, ...]:
        """Begins of paths on which a request may have a key for another server."""
        ...

    @property
    def unread(self) -> tuple[str, ...]:
        """Paths of requests whose bodies are passed on without being parsed."""
        ...

    @property
    def openai(self) -> tuple[str, ...]:
        """Begins of paths whose errors are told as the OpenAI API tells them."""
        ...

    def routes(self, desk: Desk, metrics: ServerMetrics) -> Iterable[BaseRoute]:
        """Its addresses."""
        ...

    def described(self) -> Mapping[str, Any]:
        """What the description of the server tells of them: paths of OpenAPI."""
        ...

    async def close(self, seconds: float) -> None:
        """End what it has open, when the server ends; what it still does has so many seconds."""
        ...
