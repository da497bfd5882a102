"""Relay: passes one request on to the model server, and its answer back, in the pieces in which it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import httpx2
from starlette.types import Message, Receive, Send

from memoryos.interface.proxy.passed_headers import to_client

Take = Callable[[bytes], None]
Check = Callable[[], Awaitable[None]]


class AnswerCut(Exception):
    """An answer that has begun cannot go on: its connection ends in its midst, as that of the model server did."""


async def until_gone(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Do the work to its end, or until the client goes away: then it is cancelled. The body was received before."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        working.cancel()  # if it is not done
        await asyncio.wait({working})
    if not working.cancelled():
        working.result()


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def begin(send: Send, answer: httpx2.Response, headers: list[tuple[bytes, bytes]]) -> None:
    """Send the status and the headers of an answer."""
    passed = [*to_client(answer.headers.raw), *headers]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": passed})


async def pour(send: Send, answer: httpx2.Response, take: Take, check: Check, stall_seconds: float) -> bytes:
    """Send the bytes of an answer as they come, at the pace of the client. Raises AnswerCut.

    `take` sees each piece after the client; `check` is awaited between two. The last piece of what is no stream is not
    sent but returned, for `end`: the client waits for the whole of it in any case.
    """
    held, is_stream = b"", is_events(answer)
    try:
        async for part in answer.aiter_raw():
            async with asyncio.timeout(stall_seconds):
                await send(_body(part if is_stream else held))
            take(part)  # when the client has it: it waits for the first words
            held = b"" if is_stream else part
            await check()
    except httpx2.HTTPError:
        raise AnswerCut("the model server cut its answer") from None
    except TimeoutError:
        raise AnswerCut("the client takes nothing") from None
    return held


async def end(send: Send, last: bytes) -> None:
    """Send the last bytes of an answer, and its end."""
    await send({**_body(last), "more_body": False})


def is_events(answer: httpx2.Response) -> bool:
    """Whether an answer is a stream of events."""
    return answer.headers.get("content-type", "").lower().startswith("text/event-stream")


def _body(part: bytes) -> Message:
    return {"type": "http.response.body", "body": part, "more_body": True}


def each(seconds: float, check: Check) -> Check:
    """The check, at most once in so many seconds."""
    checked = time.monotonic()

    async def rare() -> None:
        nonlocal checked
        if time.monotonic() - checked >= seconds:
            await check()
            checked = time.monotonic()

    return rare
