"""Server events: the JSON of a streamed answer, one event after the other, and closed by whoever reads it.

The SDK's own iterator leaves its generators to the garbage collector, which may run in any thread while the loop's
thread is in one of them. Imported only where the SDK is there.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from typing import Any, cast

import anyio
import httpx2
from openai import APIConnectionError, APIError, APITimeoutError, AsyncStream

from memoryos.errors import ModelError
from memoryos.models.body import Body
from memoryos.models.event_data import EventData
from memoryos.models.shapes import MOST_JSON, parsed

MOST_EVENTS = 100_000  # of an answer: 16 MB of usual events, with a token each, are fewer
_DONE = b"[DONE]"
_REST_SECONDS = 0.25  # for what comes after the last event: once it is read, the connection can serve another call


class ServerEvents(AsyncStream[object]):
    """The events of one answer."""

    async def each(self, take: Callable[[Any], object]) -> None:
        """Call `take` with the JSON of each event up to the last one. Raises ModelError, OpenAIError and ValueError."""
        with self._mapped_errors():
            async with self, aclosing(self.response.aiter_bytes()) as parts:
                try:
                    await self._take_each(parts, take)
                finally:  # also after an error: the connection's own generators end with the body only
                    await _read_rest(parts)

    async def _take_each(self, parts: AsyncIterator[bytes], take: Callable[[Any], object]) -> None:
        data, left = EventData(), MOST_EVENTS
        async for part in parts:
            for event in data.ended(part):
                if event.startswith(_DONE):
                    return
                if not left:
                    raise self._refusal(f"more than {MOST_EVENTS:,} events")
                if len(event) > MOST_JSON:
                    raise self._refusal(f"an event of more than {MOST_JSON:,} bytes of JSON")
                left -= 1
                take(self._checked(parsed(event.decode()), is_error=data.is_error))

    def _refusal(self, sent: str) -> ModelError:
        return cast("Body", self.response.stream).refusal(sent)

    def _checked(self, data: Any, *, is_error: bool) -> Any:
        """The event, unless it is an error, by its type or by what it carries. Raises APIError."""
        error = data.get("error") if isinstance(data, dict) else None
        if is_error or (isinstance(data, dict) and data.get("type") == "error"):
            error = error or data or True
        if error:
            told = error.get("message") if isinstance(error, dict) else None
            message = told if told and isinstance(told, str) else "An error occurred during streaming"
            raise APIError(message, self.response.request, body=error)
        return data

    @contextmanager
    def _mapped_errors(self) -> Iterator[None]:
        """Raise failures of the connection as the SDK's errors."""
        try:
            yield
        except httpx2.TimeoutException as error:
            raise APITimeoutError(request=self.response.request) from error
        except (httpx2.RequestError, ssl.SSLError, anyio.EndOfStream) as error:
            raise APIConnectionError(request=self.response.request) from error


async def _read_rest(parts: AsyncIterator[bytes]) -> None:
    with suppress(TimeoutError, httpx2.RequestError, ssl.SSLError, anyio.EndOfStream):
        async with asyncio.timeout(_REST_SECONDS):
            async for _ in parts:
                pass
