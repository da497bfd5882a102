"""LingeringClose: before a connection is closed, the rest of a refused body is read and thrown away (RFC 9112, 9.6).

A connection that is closed with unread bytes is reset, and the client may never see why it was refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from http import HTTPStatus
from typing import Any

from starlette.types import Message, Receive, Scope, Send

_CLOSE = (b"connection", b"close")
LINGER_SECONDS = 5.0  #: for which the rest of a body is read


class LingeringClose:
    """One request whose answer may close the connection before all of its body has come."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, seconds: float = LINGER_SECONDS) -> None:
        self._receive = receive
        self._send = send
        self._seconds = seconds
        self._is_all_read = any(name == b"expect" for name, _ in scope["headers"])  # sent only if it is asked for
        self._is_last = _CLOSE in scope["headers"]
        self._closes = False

    async def receive(self) -> Message:
        """The next part of the request."""
        message = await self._receive()
        self._is_all_read = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send a part of the answer. The last one of an answer that closes the connection is sent in two steps."""
        if message["type"] == "http.response.start":
            is_late = message["status"] == HTTPStatus.REQUEST_TIMEOUT
            self._closes = not is_late and (self._is_last or _CLOSE in message["headers"])
        elif self._closes and not message.get("more_body", False) and not self._is_all_read:
            await self._send({**message, "more_body": True})
            await self._read_rest()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def _read_rest(self) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                while not self._is_all_read:
                    await self.receive()
        except TimeoutError:
            return
