"""Stdin lines: the messages of one MCP client, as lines of standard input. What is no message is answered at once."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import mcp_types as mcp
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.json_size import has_more_values
from memoryos.regex import regex

Send = Callable[[SessionMessage], Awaitable[None]]

_LIMITS = RestLimits()
MOST_BYTES, MOST_VALUES = _LIMITS.body_bytes, _LIMITS.values  # of a message, as of a request over HTTP
_READ = 65_536  # bytes at a time
_HEAD = 4_096  # bytes of a line that is too long, in which its id may stand
_ID = regex(r'\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{0,256}")\s*[,}]')
_CANCELLED = "notifications/cancelled"
_HALF = "The message is no JSON, or has half of a character (a lone surrogate)"


@dataclass(slots=True)
class _StdinLine:
    """A line as far as it was read; of one that is too long, its head."""

    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def take(self, part: bytes) -> None:
        self.size += len(part)
        self.parts.append(part)
        if self.size > MOST_BYTES:
            self.parts = [b"".join(self.parts)[:_HEAD]]

    @property
    def text(self) -> str:
        return b"".join(self.parts).decode("utf-8", "replace")


class Unanswered:
    """The requests that wait for their answers: at the end of the input, those that were sent are still answered."""

    def __init__(self) -> None:
        self._ids: set[object] = set()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    def take(self, message: mcp.JSONRPCMessage) -> None:
        """Note what the client sends, and what the server answers."""
        if isinstance(message, mcp.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, mcp.JSONRPCResponse | mcp.JSONRPCError):
            self._ids.discard(message.id)
        elif message.method == _CANCELLED:  # it has no answer
            self._ids.discard((message.params or {}).get("requestId"))
        (self._is_empty.clear if self._ids else self._is_empty.set)()

    async def wait(self, seconds: float) -> None:
        """Wait until all are answered, at most so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_empty.wait()


class Answers:
    """The stream of answers to the client. It notes what is answered."""

    def __init__(self, stream: Any, unanswered: Unanswered) -> None:
        self._stream = stream
        self._unanswered = unanswered

    async def send(self, item: SessionMessage, /) -> None:
        """Send an answer."""
        await self._stream.send(item)
        self._unanswered.take(item.message)

    async def aclose(self) -> None:
        """Nothing follows."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stream.__aexit__(*error)


class StdinLines:
    """The lines of standard input, read by a thread that may be left waiting when the program ends."""

    def __init__(self, unanswered: Unanswered, closing: float) -> None:
        """At the end of the input, `unanswered` requests have `closing` seconds."""
        self._unanswered = unanswered
        self._closing = closing
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[tuple[str, mcp.JSONRPCMessage] | mcp.JSONRPCError | None] = asyncio.Queue(64)
        self._send: asyncio.Future[Send] = self._loop.create_future()
        threading.Thread(target=self._read, name="memoryos-mcp-stdin", daemon=True).start()

    def answer_with(self, send: Send) -> None:
        """Answer with `send` what is no message."""
        self._send.set_result(send)

    async def __aiter__(self) -> AsyncIterator[str]:
        """The messages until the end of the input."""
        while (line := await self._lines.get()) is not None:
            if isinstance(line, tuple):
                self._unanswered.take(line[1])
                yield line[0]
            else:
                await (await self._send)(SessionMessage(line))
        await self._unanswered.wait(self._closing)

    def _read(self) -> None:
        line, descriptor = _StdinLine(), sys.stdin.fileno()
        with suppress(RuntimeError):  # the loop has ended
            while part := _part(descriptor):
                *ends, rest = part.split(b"\n")
                for end in ends:
                    line.take(end)
                    self._put(line)
                    line = _StdinLine()
                line.take(rest)
            self._put(line)
            self._hand_on(None)

    def _put(self, line: _StdinLine) -> None:
        if (text := line.text).strip():
            self._hand_on(_read(line, text))

    def _hand_on(self, line: tuple[str, mcp.JSONRPCMessage] | mcp.JSONRPCError | None) -> None:
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()


def _part(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ)  # which no lock holds, as `sys.stdin` has one
    except OSError:
        return b""  # the other end is gone


def _read(line: _StdinLine, text: str) -> tuple[str, mcp.JSONRPCMessage] | mcp.JSONRPCError:
    """The message; or the answer to a line that is none, which names the limit, and no word of the line."""
    if line.size > MOST_BYTES:
        return _error(text, mcp.INVALID_REQUEST, f"The message has more than {MOST_BYTES:,} bytes")
    if has_more_values(b"".join(line.parts), MOST_VALUES):
        return _error(text, mcp.INVALID_REQUEST, f"The message has more than {MOST_VALUES:,} values")
    try:
        return text, mcp.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return _error(text, mcp.PARSE_ERROR, _HALF)
        return _error(text, mcp.INVALID_REQUEST, "The line is no message of JSON-RPC 2.0")


def _error(text: str, code: int, message: str) -> mcp.JSONRPCError:
    return mcp.JSONRPCError(jsonrpc="2.0", id=_id(text), error=mcp.ErrorData(code=code, message=message))


def _id(text: str) -> int | str | None:
    """The id that the client waits for, if it stands where clients write it."""
    found = _ID.match(text.lstrip()[:_HEAD])
    return json.loads(found[1]) if found else None
