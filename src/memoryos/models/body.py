"""Bodies of answers: read and unpacked in small parts, and refused when they become too large; an error is cut off.

All calls of a process share one event loop. Between two parts, the others have their turn, and so has the deadline.

Imported only where the SDK is there, whose HTTP client this is about.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any, Self, cast

import anyio
import httpx2

from memoryos.errors import ModelError

MOST_BYTES = 16 * 2**20  # of an answer, unpacked: 32 vectors of 12,288 numbers take 9 MB
MOST_OF_ERROR = 2**18  # bytes of an error; the rest is not read, because a few hundred are shown
_FIRST_ERROR = 400  # HTTP
_DONE = (b"\ndata: [DONE]", b"\ndata:[DONE]")  # the last event of a stream; JSON has no such line breaks
_PART = 2**16  # bytes that are unpacked at once
_GZIP = zlib.MAX_WBITS | 16

Check = Callable[[httpx2.Response], Coroutine[Any, Any, None]]


class Body(httpx2.AsyncByteStream):
    """The unpacked bytes of an answer. Raises ModelError if they are too many or wrongly encoded."""

    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str, what: str, *, is_error: bool) -> None:
        self._stream = stream
        self._packed: AsyncIterator[bytes] | None = None  # its only iterator
        self._parts: Iterator[bytes] = iter(())  # what is unpacked and not yet given
        self._size = 0
        self._unzip = zlib.decompressobj(_GZIP) if encoding in ("gzip", "x-gzip") else None
        self._what = what
        self._is_error = is_error
        self._end = b"\n"
        self.is_done = False  #: whether the last event of a stream came

    def __aiter__(self) -> Self:
        """The body itself: who stops early leaves no generator that a garbage collection has to end."""
        return self

    async def __anext__(self) -> bytes:
        while (part := next(self._parts, None)) is None:
            self._parts = self._unpacked(await self._next_packed())
        await asyncio.sleep(0)  # parts that are there already would keep all other calls waiting
        self._size += len(part)
        if self._is_error and self._size > MOST_OF_ERROR:
            raise StopAsyncIteration
        if self._size > MOST_BYTES:
            raise self.refusal(f"more than {MOST_BYTES // 2**20} MB")
        self._look_for_end(part)
        return part

    async def aclose(self) -> None:
        """Close the underlying stream."""
        packed, self._packed = self._packed, None
        if packed is not None:
            await _stopped(packed)
        await self._stream.aclose()

    async def _next_packed(self) -> bytes:
        if self._packed is None:
            self._packed = aiter(cast("AsyncIterable[bytes]", self._stream))
        try:
            return await anext(self._packed)
        except StopAsyncIteration:
            if self._unzip is not None and not self._unzip.eof:
                raise self.refusal("a compressed answer without its end") from None
            raise

    def _look_for_end(self, part: bytes) -> None:
        seen = self._end + part
        self.is_done = self.is_done or any(mark in seen for mark in _DONE)
        self._end = seen[-len(_DONE[0]) :]

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if self._unzip is None:
            yield data
            return
        try:
            while part := self._unzip.decompress(data, _PART):
                yield part
                data = self._unzip.unconsumed_tail
        except zlib.error:
            raise self.refusal("a compressed answer that cannot be decompressed") from None

    def refusal(self, sent: str) -> ModelError:
        """The error about an answer that sent this."""
        return ModelError(f"the {self._what} sent {sent}; nothing was stored")


async def _stopped(packed: AsyncIterator[bytes]) -> None:
    """Stop an iterator where it waits for the network: only there all generators of the HTTP client end with it."""
    with suppress(TimeoutError, StopAsyncIteration, httpx2.RequestError, ssl.SSLError, anyio.EndOfStream):
        async with asyncio.timeout(0):
            while True:
                await anext(packed)


def checked(what: str) -> Check:
    """The hook that checks each answer before it is read: no redirect to another origin, a bounded size, and UTF-8.

    The character set that its server names is ignored: JSON and events are UTF-8, and what Python knows by such a name
    may be no character set (hex, zlib) or take seconds (punycode).
    """

    async def check(response: httpx2.Response) -> None:
        if response.has_redirect_location and not _stays(response):
            problem = "sends its callers to another origin, which is not followed"
            raise ModelError(f"the {what} {problem}; set the base URL to its address; nothing was stored")
        encoding = response.headers.pop("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise ModelError(f"the {what} sent an answer with an unknown compression; nothing was stored")
        response.encoding = "utf-8"
        is_error = response.status_code >= _FIRST_ERROR
        response.stream = Body(cast("httpx2.AsyncByteStream", response.stream), encoding, what, is_error=is_error)

    return check


def _stays(response: httpx2.Response) -> bool:
    """Whether a redirect leads to the same scheme, host and port."""
    here = response.request.url
    try:
        there = here.join(response.headers["location"])
    except (httpx2.InvalidURL, ValueError):
        return False
    return (here.scheme, here.host, _port(here)) == (there.scheme, there.host, _port(there))


def _port(url: httpx2.URL) -> int | None:
    return url.port or {"http": 80, "https": 443}.get(url.scheme)
