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
_HALF = "The message is no JSON, or has half of a character (a lone surrogate)"


@dataclass(slots=True)
class _Line:
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


class StdinLines:
    """The lines of standard input, read by a thread that may be left waiting when the program ends."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | mcp.JSONRPCError | None] = asyncio.Queue(64)
        self._send: asyncio.Future[Send] = self._loop.create_future()
        threading.Thread(target=self._read, name="memoryos-mcp-stdin", daemon=True).start()

    def answer_with(self, send: Send) -> None:
        """Answer with `send` what is no message."""
        self._send.set_result(send)

    async def __aiter__(self) -> AsyncIterator[str]:
        """The messages until the end of the input."""
        while (line := await self._lines.get()) is not None:
            if isinstance(line, str):
                yield line
            else:
                await (await self._send)(SessionMessage(line))

    def _read(self) -> None:
        line, descriptor = _Line(), sys.stdin.fileno()
        with suppress(RuntimeError):  # the loop has ended
            while part := _part(descriptor):
                *ends, rest = part.split(b"\n")
                for end in ends:
                    line.take(end)
                    self._put(line)
                    line = _Line()
                line.take(rest)
            self._put(line)
            self._hand_on(None)

    def _put(self, line: _Line) -> None:
        if (text := line.text).strip():
            self._hand_on(_refusal(line, text) or text)

    def _hand_on(self, line: str | mcp.JSONRPCError | None) -> None:
        asyncio.run_coroutine_threadsafe(self._lines.put(line), self._loop).result()


def _part(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _READ)  # which no lock holds, as `sys.stdin` has one
    except OSError:
        return b""  # the other end is gone


def _refusal(line: _Line, text: str) -> mcp.JSONRPCError | None:
    """The answer to a line that is no message; None if it is one. It names the limit, and no word of the line."""
    if line.size > MOST_BYTES:
        return _error(text, mcp.INVALID_REQUEST, f"The message has more than {MOST_BYTES:,} bytes")
    if has_more_values(b"".join(line.parts), MOST_VALUES):
        return _error(text, mcp.INVALID_REQUEST, f"The message has more than {MOST_VALUES:,} values")
    try:
        mcp.jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] == "json_invalid":
            return _error(text, mcp.PARSE_ERROR, _HALF)
        return _error(text, mcp.INVALID_REQUEST, "The line is no message of JSON-RPC 2.0")
    return None


def _error(text: str, code: int, message: str) -> mcp.JSONRPCError:
    return mcp.JSONRPCError(jsonrpc="2.0", id=_id(text), error=mcp.ErrorData(code=code, message=message))


def _id(text: str) -> int | str | None:
    """The id that the client waits for, if it stands where clients write it."""
    found = _ID.match(text.lstrip()[:_HEAD])
    return json.loads(found[1]) if found else None
