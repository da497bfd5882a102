"""MCP over standard input and output, until the client closes it or a signal comes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from memoryos.errors import StillRunning
from memoryos.interface.mcp.mcp_server import McpDesk, quiet_sdk
from memoryos.interface.server_log import log, logged

if TYPE_CHECKING:
    from memoryos.memory import Memory

CLOSING = 10.0  # seconds for background work when the server stops
_READ = 65_536  # bytes at a time


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


class StdinLines:
    """The lines of standard input, read by a thread that may be left waiting when the program ends."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue(64)
        threading.Thread(target=self._read, name="memoryos-mcp-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[str]:
        """The lines until the end of the input."""
        while (line := await self._lines.get()) is not None:
            yield line

    def _read(self) -> None:
        rest, descriptor = b"", sys.stdin.fileno()
        with suppress(RuntimeError):  # the loop has ended
            while part := _part(descriptor):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    self._put(line.decode("utf-8", "replace"))
            self._put(None)

    def _put(self, line: str | None) -> None:
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()


def _part(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ)  # which no lock holds, as `sys.stdin` has one
    except OSError:
        return b""  # the other end is gone


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
            async with stdio_server(stdin=StdinLines()) as (incoming, outgoing):  # type: ignore[arg-type]
                await server.run(incoming, outgoing, server.create_initialization_options())
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
