"""A client of MCP for tests: the official one, on an event loop of its own, so that a test asks it line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

import forked

PATIENCE = 60.0  # seconds; nobody waits that long when all is well


@dataclass(frozen=True)
class McpSession:
    """A connected client."""

    client: Client
    portal: BlockingPortal

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """What the tool answers. The client checks it against the schema that the server told."""
        return self.begin(tool, **arguments).result(PATIENCE)

    def begin(self, tool: str, **arguments: Any) -> Future[CallToolResult]:
        """Call a tool, and do not wait for it."""
        return self.portal.start_task_soon(self.client.call_tool, tool, arguments)

    def told(self, tool: str, **arguments: Any) -> Any:
        """The document of an answer that is no error."""
        found = self.call(tool, **arguments)
        assert not found.is_error, found.content
        return found.structured_content

    def text(self, tool: str, **arguments: Any) -> str:
        """The text of an answer that is no error."""
        found = self.call(tool, **arguments)
        assert not found.is_error, found.content
        return found.content[0].text

    def refused(self, tool: str, **arguments: Any) -> str:
        """The text of an answer that is an error."""
        found = self.call(tool, **arguments)
        assert (found.is_error, found.structured_content) == (True, None)
        return found.content[0].text

    def tools(self) -> list[Any]:
        """The tools that the server tells of."""
        return self.portal.call(self.client.list_tools).tools

    def resource(self, uri: str) -> str:
        """The text of a resource."""
        return self.portal.call(self.client.read_resource, uri).contents[0].text

    def prompt(self, name: str, **arguments: str) -> str:
        """The text of a prompt."""
        return self.portal.call(self.client.get_prompt, name, arguments).messages[0].content.text


@contextmanager
def talking(server: Any, *, mode: str = "auto") -> Iterator[McpSession]:
    """Connect to a server of the SDK in this process, or to a transport."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server, mode=mode)) as client:
        yield McpSession(client, portal)


def over_http(url: str, key: str | None = None, *, mode: str = "auto", **headers: str) -> Any:
    """Connect to an address, with a key and other headers."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    told |= {"Authorization": f"Bearer {key}"} if key else {}

    @asynccontextmanager
    async def connected():
        async with (
            httpx2.AsyncClient(headers=told, timeout=PATIENCE, trust_env=False) as http,
            streamable_http_client(url, http_client=http) as streams,
        ):
            yield streams

    return talking(connected(), mode=mode)


def over_stdio(folder: Path, *arguments: str, mode: str = "auto", before: Sequence[str] = (), **variables: str) -> Any:
    """Start `memoryos mcp` in a folder, and connect to it. What it logs is in `log.txt` there."""
    program = StdioServerParameters(
        command=forked.executable(),
        args=["-m", "memoryos", *before, "mcp", *arguments],
        env=forked.settings(**variables),
        cwd=folder,
    )

    @asynccontextmanager
    async def connected():
        with (folder / "log.txt").open("a") as log:
            async with stdio_client(program, errlog=log) as streams:
                yield streams

    return talking(connected(), mode=mode)
