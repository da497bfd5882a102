"""A model server behind the proxy that says what the test wrote for it, over real HTTP, byte by byte."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from generation.scripted_model import RESET, _no_certificates, _Server

EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Said:
    """One scripted answer: its bytes, in the parts in which they are sent."""

    parts: Iterable[bytes]
    status: int = 200
    kind: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    resets: bool = False  # cut the connection after the parts
    is_sized: bool = False


@dataclass(frozen=True)
class Got:
    """One request that reached the model server."""

    path: str
    headers: dict[str, str]
    body: bytes
    client: Any = None  # address of the connection

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class ScriptedUpstream:
    url: str = ""
    script: deque[Said] = field(default_factory=deque)
    got: list[Got] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)  # the proxy closed the connection in an answer

    def will(self, *answers: Said) -> None:
        self.script.extend(answers)

    def begin_again(self) -> None:
        """Forget what was said."""
        self.script.clear()
        self.got.clear()
        self.left.clear()

    @property
    def last(self) -> Got:
        return self.got[-1]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    upstream: ScriptedUpstream

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.upstream.got.append(Got(self.path, headers, body, self.client_address))
        said = self.upstream.script.popleft() if self.upstream.script else answer("I have nothing more to say.")
        try:
            self._say(said)
        except OSError:
            self.upstream.left.set()
            self.close_connection = True

    def do_GET(self) -> None:
        self.do_POST()

    def _say(self, said: Said) -> None:
        self.send_response(said.status)
        self.send_header("Content-Type", said.kind)
        for name, value in said.headers:
            self.send_header(name, value)
        if said.is_sized:
            self.send_header("Content-Length", str(len(b"".join(said.parts))))
        else:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in said.parts:
            self.wfile.write(part if said.is_sized else b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()
        if said.resets:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.connection.close()
            self.close_connection = True
        elif not said.is_sized:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""


@contextmanager
def scripted_upstream() -> Iterator[ScriptedUpstream]:
    """Run it on a free port of the loopback interface."""
    upstream = ScriptedUpstream()
    handler = type("Handler", (_Handler,), {"upstream": upstream})
    with _no_certificates(), _Server(("127.0.0.1", 0), handler) as server:
        upstream.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield upstream
        finally:
            server.shutdown()
            thread.join()


def completion(message: dict[str, Any], finish: str = "stop", **more: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, "logprobs": None}
    told = {"id": "c1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice], **more}
    return json.dumps(told).encode()


def answer(text: str, **more: Any) -> Said:
    return Said([completion({"content": text}, **more)], is_sized=True)


def event(delta: dict[str, Any], finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    told = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
    return b"data: " + json.dumps({**told, **more}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def streamed(*pieces: str, end: bytes | None = None, **more: Any) -> Said:
    """An answer in events; `end` takes the place of the last two."""
    told = [event({"content": piece}) for piece in pieces]
    return Said([*told, *([event({}, "stop"), DONE] if end is None else [end])], kind=EVENTS, **more)
