"""RequestGuard: what happens to every request around its handler: limits, an id, counts, one line of the log.

A line of the log has no word of a request: its address without the values in it, and the id of the key.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote_to_bytes

from anyio import to_thread
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoryos.errors import MemoryOSError
from memoryos.interface.rest.body_room import BodyRoom, Take
from memoryos.interface.rest.lingering_close import LingeringClose
from memoryos.interface.rest.problems import Refusing, answer
from memoryos.interface.rest.request_passage import RequestPassage
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.server_metrics import ServerMetrics
from memoryos.interface.rest.server_traces import ServerTraces
from memoryos.interface.server_log import log
from memoryos.json_size import has_more_values

Admit = Callable[[Request], Awaitable[None]]  #: refuses a request, or notes who asks
Refuse = Callable[[Scope, Exception], ASGIApp]  #: makes the answer to a request that failed

_OWN = b"x-memoryos-"
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class ClientGone(Exception):
    """The client has closed the connection before its request was complete."""


class RequestGuard:
    """Wraps the application."""

    def __init__(
        self,
        app: ASGIApp,
        limits: RestLimits,
        metrics: ServerMetrics,
        traces: ServerTraces,
        admit: Admit,
        refuse: Refuse = lambda _, error: answer(error),
        unread: Collection[str] = (),
        is_streamed: Callable[[Scope], bool] = lambda _: False,
    ) -> None:
        """`unread` are paths whose bodies nobody parses here; those of streamed requests are read by who answers."""
        self._is_streamed = is_streamed
        self._app = app
        self._refuse = refuse
        self._unread = unread
        self._admit = admit
        self._limits = limits
        self._room = BodyRoom(limits.bodies_bytes)
        self._metrics = metrics
        self._traces = traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        passage = RequestPassage(scope)
        closing = LingeringClose(scope, receive, send)
        async with self._counted(passage):
            await self._guarded(passage, closing.receive, _noting(passage, closing.send))
        await closing.end()

    @asynccontextmanager
    async def _counted(self, passage: RequestPassage) -> AsyncIterator[None]:
        with self._metrics.running.track_inprogress(), self._traces.request(passage):
            try:
                yield
            except BaseException as error:
                passage.error = passage.error or type(error).__name__
                raise
            finally:
                self._metrics.count(passage.method, passage.route, passage.status, passage.seconds)
                log.info("%s", _line(passage))

    async def _guarded(self, passage: RequestPassage, receive: Receive, send: Send) -> None:
        try:
            _check_framing(Headers(scope=passage.scope))
            _check_names(passage.scope)
            await self._admit(Request(passage.scope))  # before it takes memory
            if passage.scope["path"] not in self._unread:
                _check_coding(Headers(scope=passage.scope))
            if self._is_streamed(passage.scope):
                await self._app(passage.scope, receive, send)
                return
            with self._room.seat() as take:
                await self._app(passage.scope, await self._read_again(passage.scope, receive, take), send)
        except ClientGone:
            pass  # before it was answered, which its span tells
        except Exception as error:  # noqa: BLE001 - a request never ends the server, and its words reach no log
            is_known = isinstance(error, Refusing | MemoryOSError)
            if not is_known:
                log.error("%s", _line(passage, error=type(error).__name__))  # a trace would have contents
            if passage.status or not is_known:
                passage.error = type(error).__name__
            if passage.status:
                raise ConnectionAbortedError("the answer cannot go on") from None
            await self._refuse(passage.scope, error)(passage.scope, receive, send)

    async def _read_again(self, scope: Scope, receive: Receive, take: Take) -> Receive:
        """What gives the application the checked body, and holds it no longer than until then. Raises Refusing."""
        body = await self._body(Headers(scope=scope), receive, take)
        if scope["path"] not in self._unread:
            await _check_values(body, self._limits.values)
        return _again(body, receive)

    async def _body(self, headers: Headers, receive: Receive, take: Take) -> bytes:
        """The whole body. Raises Refusing if it is too large, too slow, or no JSON."""
        most, length = self._limits.body_bytes, headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > most:
            raise too_large(most)
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await _read(receive, most, take)
        except TimeoutError:
            raise too_slow() from None
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if body and kind != "application/json":
            problem = "The content type of the body is not application/json"
            raise Refusing(415, "UnsupportedMediaType", problem, "Send JSON, with Content-Type: application/json")
        return body


def _check_framing(headers: Headers) -> None:
    """Refuse a body with two ends: a proxy in front may read another one, and what follows as the next request.

    Raises Refusing, and the connection is closed (RFC 9112, 6.1).
    """
    if "content-length" in headers and "transfer-encoding" in headers:
        problem, fix = "The request has Content-Length and Transfer-Encoding", "Send one of them"
        raise Refusing(400, "Unreadable", problem, fix, {"Connection": "close"})


def _check_coding(headers: Headers) -> None:
    """Refuse a packed body. Raises Refusing."""
    if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        told = {"Accept-Encoding": "identity"}
        problem = "The body is packed (Content-Encoding)"
        raise Refusing(415, "UnsupportedMediaType", problem, "Send it as it is, without Content-Encoding", told)


def _check_names(scope: Scope) -> None:
    """Refuse an address, or a header of ours, that is not UTF-8: all names that are not would read as the same.

    Raises Refusing.
    """
    own = [value for name, value in scope["headers"] if name.startswith(_OWN)]
    try:
        for told in (unquote_to_bytes(scope["raw_path"]), unquote_to_bytes(scope["query_string"]), *own):
            told.decode()
    except UnicodeDecodeError:
        fix = "Encode names as UTF-8, e.g. J%C3%BCrgen in the address"
        raise Refusing(422, "InvalidInput", "The address or a header is not UTF-8", fix) from None


async def _read(receive: Receive, most: int, take: Take) -> bytes:
    parts: list[bytes] = []
    size, goes_on = 0, True
    while goes_on:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise too_large(most)
        take(len(parts[-1]))
        goes_on = message.get("more_body", False)
    return b"".join(parts)


def too_slow() -> Refusing:
    """The refusal of a body that does not come."""
    return Refusing(408, "TooSlow", "The request took too long to arrive", "Send it again", {"Connection": "close"})


def too_large(most: int) -> Refusing:
    """The refusal of a body that is too large."""
    fix = f"Send at most {most:,} bytes at a time"
    return Refusing(413, "TooLarge", f"The body has more than {most:,} bytes", fix, {"Connection": "close"})


async def _check_values(body: bytes, most: int) -> None:
    """Raise Refusing if the body has too many values. A large one is looked through in a thread."""
    if len(body) > most and await to_thread.run_sync(has_more_values, body, most):
        raise Refusing(
            413, "TooManyValues", f"The body has more than {most:,} values", "Split it into several requests"
        )


def _again(body: bytes, receive: Receive) -> Receive:
    """Receive the body in one piece, and then what follows it."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return waiting.pop() if waiting else await receive()

    return next_message


def _noting(passage: RequestPassage, send: Send) -> Send:
    async def noted(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            passage.status = message["status"]
            known = {name for name, _ in message["headers"]}
            more = [one for one in _HEADERS if one[0] not in known]
            name = b"x-memoryos-request-id" if b"x-request-id" in known else b"x-request-id"  # of another server
            message["headers"] = [*message["headers"], *more, (name, passage.id.encode())]
        await send(message)
        passage.is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)

    return noted


def _line(passage: RequestPassage, **more: Any) -> str:
    asking = passage.scope.get("state", {}).get("asking")
    told = {
        "request": passage.id,
        "method": passage.method,
        "route": passage.route,
        "status": passage.status,
        "milliseconds": round(passage.seconds * 1000, 1),
        "by": asking.name if asking else None,
    }
    return json.dumps({**told, **more})
