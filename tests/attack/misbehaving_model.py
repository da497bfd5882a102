"""A server of models that does not keep to HTTP or to the OpenAI API: each reply is a function that writes bytes."""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Replies = Callable[["Asked"], None]

HEAD = b"HTTP/1.1 %d X\r\nContent-Type: %s\r\nConnection: close\r\n"
JSON, EVENTS = b"application/json", b"text/event-stream"
SCRIPT_SECONDS = 60  # no reply goes on for longer


@dataclass
class Asked:
    """One request, with the connection to answer on."""

    request: dict[str, Any]
    write: Callable[[bytes], None]
    server: Misbehaving


@dataclass
class Misbehaving:
    """What the server will do, and what it was asked."""

    replies: deque[Replies] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    otherwise: Replies | None = None
    url: str = ""
    cut: int = 0  # replies whose reader went away

    def will(self, *replies: Replies) -> None:
        self.replies.extend(replies)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_state: Misbehaving

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state = self.server_state
        state.requests.append(request)
        reply = state.replies.popleft() if state.replies else state.otherwise
        self.close_connection = True
        try:
            reply(Asked(request, self._write, state))
        except OSError:
            state.cut += 1

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_: object) -> None:
        """A connection that was cut is no error."""


@contextmanager
def misbehaving() -> Iterator[Misbehaving]:
    """Run the server on a free port of the loopback interface."""
    state = Misbehaving(otherwise=sends(completion("Fine.")))
    handler = type("Handler", (_Handler,), {"server_state": state})
    with _Server(("127.0.0.1", 0), handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def completion(text: Any, **changes: Any) -> bytes:
    """The body of an answer; a change to `...` takes the field out."""
    body = {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }
    return json.dumps({name: value for name, value in (body | changes).items() if value is not ...}).encode()


def event(text: str | None = None, finish: str | None = None) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": {} if text is None else {"content": text}, "finish_reason": finish}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def sends(body: bytes, *headers: bytes, status: int = 200, kind: bytes = JSON) -> Replies:
    """The body at once, and its length."""
    head = HEAD % (status, kind) + b"".join(line + b"\r\n" for line in headers)
    return lambda asked: asked.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def streams(*events: bytes, pause: float = 0.0) -> Replies:
    """The events, and then the end of the connection."""

    def reply(asked: Asked) -> None:
        asked.write(HEAD % (200, EVENTS) + b"\r\n")
        for one in events:
            asked.write(one)
            time.sleep(pause)

    return reply


def drips(begin: bytes, piece: bytes, pause: float = 0.1) -> Replies:
    """A beginning, and then a piece again and again."""

    def reply(asked: Asked) -> None:
        asked.write(begin)
        for _ in range(int(SCRIPT_SECONDS / pause)):
            asked.write(piece)
            time.sleep(pause)

    return reply


def floods(piece: bytes, kind: bytes = JSON) -> Replies:
    """A body that never ends, as fast as it is read."""

    def reply(asked: Asked) -> None:
        asked.write(HEAD % (200, kind) + b"\r\n")
        until = time.monotonic() + SCRIPT_SECONDS
        while time.monotonic() < until:
            asked.write(piece)

    return reply


def bomb(megabytes: int, layers: int = 1) -> bytes:
    """A thousandth of so many megabytes, which unpack to all of them."""
    packed = b" " * (megabytes * 2**20)
    for _ in range(layers):
        packed = gzip.compress(packed, 6)
    return packed


def cheap_bomb(megabytes: int) -> bytes:
    """The same without its end, made of one megabyte: for very large ones, of which only the beginning is read."""
    packing = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    first, each = (packing.compress(b" " * 2**20) + packing.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + each * (megabytes - 1)


def redirects(url: str, status: int = 307) -> Replies:
    """Sends the caller somewhere else."""
    return sends(b"", b"Location: " + url.encode(), status=status)
