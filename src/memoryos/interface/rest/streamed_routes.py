"""Streamed routes: addresses whose answer is no document: an answer in pieces, an export, the bytes of a file."""

from __future__ import annotations

import asyncio
import json
import queue
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from functools import partial
from io import TextIOBase
from typing import Any, TextIO, TypeVar, cast

from anyio import CapacityLimiter, to_thread
from starlette.responses import Response, StreamingResponse

from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault.patience import apart
from memoryos.interface.rest.admission import Asking
from memoryos.interface.rest.desk import Desk, RestRequest
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.problems import answer, document_of
from memoryos.interface.rest.route import Route
from memoryos.operation.answer.answer_stream import AnswerStream

T = TypeVar("T")

RESPOND = Route("respond", "POST", "/respond", {"query": "What do I keep?"})
EXPORT = Route("export", "GET", "/export", without=("target",))
ATTACHMENT = Route("pages.attachment", "GET", "/pages/{page_id}/attachments/{id}")
STREAMED = (RESPOND, EXPORT, ATTACHMENT)

EVENTS, LINES = "text/event-stream", "application/x-ndjson"
_TEXT = {"type": "string"}
# What the description shows of answers that are no documents, by their media type.
SHOWN: Mapping[str, Mapping[str, Any]] = {
    EVENTS: {"schema": _TEXT, "example": 'event: piece\ndata: {"text": "You keep bees."}\n\n'},
    LINES: {"schema": _TEXT, "example": '{"format": "memoryos-export", "version": 1}\n'},
    "application/octet-stream": {"schema": {**_TEXT, "format": "binary"}, "example": "the bytes of the file"},
}
_PIECES = 4  # of an export that wait for a slow reader; a piece may have a whole attachment


async def respond(desk: Desk, parameters: Parameters, asked: RestRequest) -> Response:
    """Answer with the chat model: as one document, or in events if the request accepts them."""
    if EVENTS not in asked.request.headers.get("accept", ""):
        return await desk.answer(parameters, asked)
    stream = await desk.run(lambda: _begun(desk, parameters, asked), RESPOND.step)
    try:
        first = await anext(stream, None)
    except MemoryOSError as error:
        return answer(error)
    return StreamingResponse(_events(desk, asked.asking, stream, first), media_type=EVENTS)


def _begun(desk: Desk, parameters: Parameters, asked: RestRequest) -> AnswerStream:
    _, named = parameters.arguments(asked.path, asked.query, asked.body)
    return desk.memory(parameters, asked).respond_stream(**named)


async def _events(desk: Desk, asking: Asking, stream: AnswerStream, piece: str | None) -> AsyncIterator[str]:
    """Each piece as an event, then `end` with the whole answer; or `error`, with its problem: nothing is stored."""
    checked = time.monotonic()
    try:
        while piece is not None:
            yield _event("piece", {"text": piece})
            piece = await anext(stream, None)
            if time.monotonic() - checked >= desk.limits.recheck_seconds:
                await desk.run(lambda: desk.admission.check(asking))
                checked = time.monotonic()
        yield _event("end", stream.answer.to_dict() if stream.answer else {})
    except MemoryOSError as error:
        yield _event("error", document_of(error))
    finally:
        stream.close()


def _event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


class Lines(TextIOBase):
    """A text stream whose lines another thread reads, and which waits for a slow reader."""

    def __init__(self, patience: float) -> None:
        """A reader that takes nothing for `patience` seconds has left."""
        super().__init__()
        self._patience = patience
        self._waiting: queue.Queue[str | None] = queue.Queue(_PIECES)
        self._is_left = False

    def writable(self) -> bool:
        """Return True: it is a stream for writing."""
        return True

    def write(self, text: str) -> int:
        """Hand on a piece of text. Raises BrokenPipeError once nobody reads."""
        self._put(text)
        return len(text)

    def end(self) -> None:
        """Tell the reader that nothing follows."""
        with suppress(BrokenPipeError):
            self._put(None)

    def leave(self) -> None:
        """Tell the writer that nobody reads any more, and a reader that waits that nothing follows."""
        self._is_left = True
        with suppress(queue.Full):
            self._waiting.put_nowait(None)

    def _put(self, piece: str | None) -> None:
        end = time.monotonic() + self._patience
        while not self._is_left and time.monotonic() < end:
            with suppress(queue.Full):
                return self._waiting.put(piece, timeout=0.1)
        self._is_left = True
        raise BrokenPipeError("the reader has gone")

    def next(self) -> str | None:
        """The next piece; None at the end, also of an export that was given up."""
        if self._is_left and self._waiting.empty():
            return None
        return self._waiting.get()


async def export(desk: Desk, parameters: Parameters, asked: RestRequest) -> Response:
    """Everything of an owner, as JSON Lines. An answer without its last line, the mark, was cut short."""
    lines = Lines(desk.limits.stall_seconds)

    def write() -> None:
        with desk.traces.step(EXPORT.step):
            desk.memory(parameters, asked).export(cast("TextIO", lines))

    writing = asyncio.ensure_future(_alone(partial(_written, write, lines)))
    try:
        first = await _alone(lines.next)
        if first is None:
            await writing  # raises what it failed with
    except BaseException:
        lines.leave()
        raise
    return StreamingResponse(_checked(desk, asked.asking, lines, first, writing), media_type=LINES)


async def _alone(work: Callable[[], T]) -> T:
    """Do the work in a thread that waits for no other one, so that exports do not wait for each other."""
    return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=CapacityLimiter(1))


def _written(write: Callable[[], object], lines: Lines) -> None:
    try:
        with suppress(BrokenPipeError):
            apart(write)
    finally:
        lines.end()


async def _checked(
    desk: Desk, asking: Asking, lines: Lines, piece: str | None, writing: asyncio.Future[None]
) -> AsyncIterator[str]:
    checked = time.monotonic()
    try:
        while piece is not None:
            yield piece
            piece = await _alone(lines.next)
            if time.monotonic() - checked >= desk.limits.recheck_seconds:
                await desk.run(lambda: desk.admission.check(asking))
                checked = time.monotonic()
        await writing
    finally:
        lines.leave()


async def attachment(desk: Desk, parameters: Parameters, asked: RestRequest) -> Response:
    """The bytes of an attachment. A browser saves them, and runs nothing of them."""

    def read() -> Any:
        _, named = parameters.arguments(asked.path, asked.query, None)
        return desk.memory(parameters, asked).pages.attachment(**named)

    found = await desk.run(read, ATTACHMENT.step)
    headers = {"Content-Disposition": "attachment", "Content-Security-Policy": "sandbox; default-src 'none'"}
    return Response(found.data, headers=headers, media_type=found.media_type or "application/octet-stream")
