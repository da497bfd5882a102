"""MCP over streamable HTTP: an application behind the guard, the keys and the limits of the REST server.

Each request stands by itself, with its key: there are no sessions that another key could take over, and any process
may answer. A request names its owner as one of REST does; a client that can only send headers names it there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from anyio import CapacityLimiter, to_thread
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import Route as HttpRoute

from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.patience import apart
from memoryos.interface.mcp.mcp_server import McpDesk, quiet_sdk
from memoryos.interface.rest.admission import Admission, Asking
from memoryos.interface.rest.rate import Rate
from memoryos.interface.rest.request_guard import RequestGuard
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.server_metrics import ServerMetrics
from memoryos.interface.rest.server_traces import ServerTraces
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.scope import Scope

PATH = "/mcp"
HEADER = "x-memoryos-"  #: before user, agent, session and branch


@dataclass(frozen=True, slots=True)
class RequestedMemory:
    """Whose memory the requests to one store are about."""

    store: MemoryOS
    default: Scope  #: of requests without a key

    def __call__(self, request: Request | None) -> Memory:
        """The memory of a request, used by who asks. Raises InvalidInput if it names no user."""
        assert request is not None  # noqa: S101 - each request over HTTP has one
        asking: Asking = request.state.asking
        user = _named(request, "user") or self._only_user(asking)
        agent, session = (_named(request, name) or getattr(self.default, name) for name in ("agent", "session"))
        memory = self.store.by(asking.caller).of(Scope(user, agent, session, asking.tenant))
        branch = _named(request, "branch")
        return memory if branch is None else memory.branch(branch)

    def _only_user(self, asking: Asking) -> str:
        if not asking.has_key:
            return self.default.user
        if asking.users is None or len(asking.users) != 1:
            raise InvalidInput("user", "is missing", f"Name it in the address, as {PATH}?user=NAME, or in {HEADER}user")
        return next(iter(asking.users))


def _named(request: Request, name: str) -> str | None:
    """What the address or a header names. Raises InvalidInput if both do and differ."""
    told = {*request.query_params.getlist(name), *request.headers.getlist(HEADER + name)}
    if len(told) > 1:
        raise InvalidInput(name, "is named twice", "Name it once, in the address or in a header")
    return next(iter(told), None)


def mcp_app(store: MemoryOS, limits: RestLimits, *, default: Scope) -> Starlette:
    """Return the application for a store. It neither opens nor closes the store."""
    admission = Admission(store, Rate(limits.per_minute))
    threads = CapacityLimiter(limits.threads)
    desk = McpDesk(RequestedMemory(store, default), is_remote=True, threads=threads)
    manager = StreamableHTTPSessionManager(
        desk.server(), json_response=True, stateless=True, max_request_body_size=limits.body_bytes
    )

    async def admit(request: Request) -> None:
        admitted = partial(apart, partial(admission.admit, request))
        request.state.asking = await to_thread.run_sync(admitted, limiter=threads)

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[Mapping[str, object]]:
        with quiet_sdk():
            async with manager.run():
                yield {}

    guard = Middleware(RequestGuard, limits=limits, metrics=ServerMetrics(), traces=ServerTraces(), admit=admit)
    route = HttpRoute(PATH, StreamableHTTPASGIApp(manager), methods=["POST"])
    return Starlette(routes=[route], middleware=[guard], lifespan=running)
