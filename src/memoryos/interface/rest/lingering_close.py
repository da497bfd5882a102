"""LingeringClose: before a connection is closed, the rest of a refused body is read and thrown away (RFC 9112, 9.6).

A connection that is closed with unread bytes is reset, and the client may never see why it was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.types import Message, Receive, Scope, Send

LINGER_SECONDS = 5.0  #: for which the rest of a body is read
IDLE_SECONDS = 1.0  #: without a byte, after which nothing more is expected

# What a body is refused for by its size, after its sender was admitted: a stranger keeps no connection open.
_BY_SIZE = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.SERVICE_UNAVAILABLE)


class LingeringClose:
    """One request whose answer may close the connection before all of its body has come."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, seconds: float = LINGER_SECONDS, idle: float = IDLE_SECONDS
    ) -> None:
        self._receive = receive
        self._send = send
        self._seconds = seconds
        self._idle = idle
        self._is_all_read = any(name == b"expect" for name, _ in scope["headers"])  # sent only if it is asked for
        self._closes = False
        self._is_open = False  # the answer has all its bytes, and its end is not told

    async def receive(self) -> Message:
        """The next part of the request."""
        message = await self._receive()
        self._is_all_read = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send a part of the answer; the end of one that would reset the connection is left to `end`."""
        if message["type"] == "http.response.start":
            self._closes = message["status"] in _BY_SIZE and (b"connection", b"close") in message["headers"]
        elif self._closes and not message.get("more_body", False) and not self._is_all_read:
            self._is_open = True
            message = {**message, "more_body": True}
        await self._send(message)

    async def end(self) -> None:
        """Read the rest of the body, and end the answer, if that is left to do."""
        if self._is_open:
            await self._read_rest()
            await self._send({"type": "http.response.body", "body": b""})

    async def _read_rest(self) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                while not self._is_all_read:
                    async with asyncio.timeout(self._idle):
                        await self.receive()
        except TimeoutError:
            return
