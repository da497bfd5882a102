"""MCP over standard input and output, until the client closes it or a signal comes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from memoryos.errors import StillRunning
from memoryos.interface.mcp.mcp_server import McpDesk, quiet_sdk
from memoryos.interface.mcp.stdin_lines import Answers, StdinLines, Unanswered
from memoryos.interface.server_log import log, logged

if TYPE_CHECKING:
    from memoryos.memory import Memory

CLOSING = 10.0  # seconds for background work when the server stops


class LateMemory:
    """A memory that is opened when it is first needed; after a failure, the next call tries again."""

    def __init__(self, opening: Callable[[], Memory]) -> None:
        self._opening = opening
        self._lock = Lock()
        self._memory: Memory | None = None

    def get(self) -> Memory:
        """The memory. Raises what `memoryos.open` raises."""
        with self._lock:
            if self._memory is None:
                self._memory = self._opening()
            return self._memory

    def close(self) -> None:
        """Complete the calls and the background work that run, as long as the time allows."""
        with self._lock, suppress(StillRunning):  # the next process does the rest
            if self._memory is not None:
                self._memory.close(CLOSING)


def serve_stdio(opening: Callable[[], Memory]) -> None:
    """Answer one client until it closes standard input, or until SIGTERM or SIGINT."""
    memory = LateMemory(opening)
    with logged(), quiet_sdk():
        try:
            asyncio.run(_serve(McpDesk(lambda _: memory.get()).server()))
        finally:
            memory.close()


async def _serve(server: Server[Any]) -> None:
    with anyio.CancelScope() as scope, _stopped_by_signals(scope):
        try:
            unanswered = Unanswered()
            lines = StdinLines(unanswered, CLOSING)
            async with stdio_server(stdin=lines) as (incoming, outgoing):  # type: ignore[arg-type]
                lines.answer_with(outgoing.send)
                await server.run(incoming, Answers(outgoing, unanswered), server.create_initialization_options())
        except* BrokenPipeError:
            log.info("the client is gone")


@contextmanager
def _stopped_by_signals(scope: anyio.CancelScope) -> Iterator[None]:
    """End the scope at SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    kinds = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(kind, lambda *_: loop.call_soon_threadsafe(scope.cancel)) for kind in kinds]
    try:
        yield
    finally:
        for kind, handler in zip(kinds, before, strict=True):
            signal.signal(kind, handler)
