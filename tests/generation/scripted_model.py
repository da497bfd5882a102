"""Models that say what the test wrote for them, over real HTTP in the OpenAI API: one that chats, one that embeds."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from memoryos.models.hashing import Hashing

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close with a reset instead of a goodbye


@dataclass(frozen=True)
class Reply:
    """One scripted reply; the text is streamed in `pieces` when the client asks for a stream."""

    pieces: tuple[str, ...] = ()
    status: int = 200
    body: str | None = None  # sent as it is, instead of a completion
    delay_seconds: float = 0.0
    resets_after: int | None = None  # cut the connection after that many pieces
    headers: tuple[tuple[str, str], ...] = ()  # beside the usual ones


def says(*pieces: str) -> Reply:
    return Reply(pieces)


@dataclass
class ScriptedModel:
    """The server: what it will say, and what it was asked."""

    replies: deque[Reply] = field(default_factory=deque)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    url: str = ""
    counts: tuple[int, int] = (11, 7)  # the tokens of a prompt and of an answer, as it says
    otherwise: Callable[[dict[str, Any]], Reply] = lambda _: says("I have nothing more to say.")  # beyond the script

    def will(self, *replies: Reply) -> None:
        self.replies.extend(replies)

    @property
    def prompt(self) -> str:
        """All the text of the last request."""
        return "\n".join(message["content"] for message in self.requests[-1]["messages"])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or the body would wait 40 ms for the client to acknowledge the headers
    model: ScriptedModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.model.requests.append(request)
        self.model.keys.append(self.headers["Authorization"].removeprefix("Bearer "))
        reply = self.model.replies.popleft() if self.model.replies else self.model.otherwise(request)
        time.sleep(reply.delay_seconds)
        try:
            if reply.body is not None or reply.status != 200:
                body = reply.body or '{"error": {"message": "scripted"}}'
                self._send(reply.status, "application/json", body.encode(), reply.headers)
            elif request.get("stream"):
                self._stream(reply)
            else:
                self._complete(reply, request)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client gave up, as some tests want

    def _complete(self, reply: Reply, _request: dict[str, Any]) -> None:
        if reply.resets_after is not None:
            self._reset()
            return
        message = {"role": "assistant", "content": "".join(reply.pieces)}
        asked, said = self.model.counts
        usage = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
        self._send(200, "application/json", json.dumps({**body, "usage": usage}).encode())

    def _stream(self, reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for number, piece in enumerate(reply.pieces):
            if number == reply.resets_after:
                self._reset()
                return
            self._chunk({"content": piece}, None)
        self._chunk({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _chunk(self, delta: dict[str, str], finish_reason: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        chunk = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.flush()

    def _reset(self) -> None:
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.connection.close()
        self.close_connection = True

    def _send(self, status: int, kind: str, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""


class _EmbeddingHandler(_Handler):
    """Embeds by spelling, unless the script has something else; the rows are not of unit length, and not in order."""

    def _complete(self, reply: Reply, request: dict[str, Any]) -> None:
        texts = request["input"]
        if reply.resets_after is not None:
            self._reset()
        elif not all(isinstance(text, str) and text.strip() for text in texts):
            self._send(400, "application/json", b'{"error": {"message": "input cannot be an empty string"}}')
        else:
            rows = 3 * Hashing().embed(texts)[:, : request.get("dimensions")]
            self._send(200, "application/json", embeddings(rows.tolist(), backwards=True).encode())


def embeddings(rows: list[Any], *, backwards: bool = False) -> str:
    """The body of an answer with these vectors."""
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return json.dumps({"object": "list", "model": "m", "data": data[::-1] if backwards else data, "usage": usage})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # of 5, which is usual, a busy machine drops connections that come together

    def handle_error(self, *_: object) -> None:
        """A connection that the script cut is no error."""


@contextmanager
def scripted_model(answers: type[_Handler] = _Handler) -> Iterator[ScriptedModel]:
    """Run the server on a free port of the loopback interface."""
    model = ScriptedModel()
    handler = type("Handler", (answers,), {"model": model})
    with _no_certificates(), _Server(("127.0.0.1", 0), handler) as server:
        model.url = f"http://127.0.0.1:{server.server_port}/v1"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _no_certificates() -> Iterator[None]:
    """Each client would read all that the machine trusts, for plain HTTP too: let there be none."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_DIR", folder)
        yield


def scripted_embedder() -> AbstractContextManager[ScriptedModel]:
    """Run a server of embeddings."""
    return scripted_model(_EmbeddingHandler)
