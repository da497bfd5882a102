"""Load clients: many clients that ask one server at the same time, `python -m memoryos.bench.load_clients`.

They speak as much of HTTP as `memoryos serve` does, and little more, so that they leave the processor to the server.
The process gets its task on stdin, says when all are connected, begins with the next line, says and does the same once
more for the calls without an add, and answers in JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from memoryos.bench.load_calls import ADD, WARM_UP, LoadCall, LoadDone, calls_of, user_of, without_adds
from memoryos.errors import MemoryOSError

_PATHS = {ADD: "/v1/memories", "search": "/v1/search"}
_CREATED, _OK = 201, 200
_SHOWN = 80  # characters of an error

Connection = tuple[StreamReader, StreamWriter]


class AnswerFailed(MemoryOSError):
    """A request of the load got another answer than it should."""


@dataclass(slots=True)
class LoadClient:
    """One client, with a connection that it keeps while it asks: the server closes idle ones."""

    number: int
    key: str
    url: str
    done: LoadDone
    calls: Iterator[LoadCall]

    async def warm_up(self) -> None:
        """Send the first calls. Raises AnswerFailed."""
        async with _connected(self.url) as connection:
            for call in islice(self.calls, WARM_UP):
                self.done.note(user_of(self.number), call.operation, None, await self._ask(connection, call))

    async def ask_for(self, seconds: float, *, is_steady: bool = False) -> None:
        """Send one call after the other until the time is over, or one fails; if steady, no adds, and uncounted."""
        end = time.perf_counter() + seconds
        calls = without_adds(self.calls) if is_steady else self.calls
        async with _connected(self.url) as connection:
            while (began := time.perf_counter()) < end:
                call = next(calls)
                try:
                    answer = await self._ask(connection, call)
                except (AnswerFailed, OSError, EOFError) as error:
                    self.done.fail(f"{call.operation}: {type(error).__name__} {error}"[:_SHOWN])
                    return
                ms = None if is_steady else (time.perf_counter() - began) * 1000
                self.done.note(user_of(self.number), call.operation, ms, answer)

    async def _ask(self, connection: Connection, call: LoadCall) -> Any:
        """Send a call, and return the ids or the hits of the answer. Raises AnswerFailed."""
        reader, writer = connection
        body = json.dumps({"query": call.query, **({"response": call.response} if call.response else {})}).encode()
        target, host = f"{_PATHS[call.operation]}?user={user_of(self.number)}", urlsplit(self.url).netloc
        head = (
            f"POST {target} HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: Bearer {self.key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        status, answer = await _answer(reader)
        if status != (_CREATED if call.operation == ADD else _OK):
            raise AnswerFailed(f"{status} {answer.get('title')}")
        return answer["ids" if call.operation == ADD else "hits"]


@asynccontextmanager
async def _connected(url: str) -> AsyncIterator[Connection]:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _answer(reader: StreamReader) -> tuple[int, Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status, *headers = head.split("\r\n")
    told = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in headers)}
    return int(status.split()[1]), json.loads(await reader.readexactly(int(told["content-length"])))


async def play_clients(
    url: str, keys: Sequence[str], seconds: float, steady: float = 0.0, ready: Callable[[], None] = lambda: None
) -> LoadDone:
    """Let as many clients as there are keys ask for so long, and then for `steady` seconds without an add.

    Each begins with `ready()`. Raises AnswerFailed in the warm-up.
    """
    done = LoadDone()
    clients = [LoadClient(number, key, url, done, calls_of(number)) for number, key in enumerate(keys)]
    await asyncio.gather(*(client.warm_up() for client in clients))
    ready()
    await asyncio.gather(*(client.ask_for(seconds) for client in clients))
    ready()
    await asyncio.gather(*(client.ask_for(steady, is_steady=True) for client in clients))
    return done


def await_go() -> None:
    """Say that the process is ready, and wait for the line that lets it begin."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    task = json.loads(sys.stdin.readline())
    sys.stdout.write(json.dumps(asdict(asyncio.run(play_clients(**task, ready=await_go)))))
