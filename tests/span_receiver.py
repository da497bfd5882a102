"""A receiver of spans, as a collector of OpenTelemetry is one: OTLP over real HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

KINDS = ("", "INTERNAL", "SERVER", "CLIENT")


@dataclass(frozen=True)
class ReceivedSpan:
    """One span, with its ids as hexadecimal digits."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    is_error: bool
    told: str  #: all that was received of it, to be looked through
    seconds: float


@dataclass
class SpanReceiver:
    """What was received."""

    url: str = ""
    paths: list[str] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    spans: list[ReceivedSpan] = field(default_factory=list)

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]

    def children(self, parent: ReceivedSpan) -> list[ReceivedSpan]:
        found = [span for span in self.spans if (span.trace, span.parent) == (parent.trace, parent.id)]
        return sorted(found, key=lambda span: span.name)

    def take(self, path: str, body: bytes) -> None:
        self.paths.append(path)
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_values(group.resource.attributes))
            self.spans += [_read(span) for scope in group.scope_spans for span in scope.spans]


class _Handler(BaseHTTPRequestHandler):
    receiver: SpanReceiver

    def do_POST(self) -> None:
        self.receiver.take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the test output clean."""


@contextmanager
def span_receiver() -> Iterator[SpanReceiver]:
    """Run it on a free port of the loopback interface."""
    receiver = SpanReceiver()
    handler = type("Handler", (_Handler,), {"receiver": receiver})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        receiver.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()


def _read(span: Any) -> ReceivedSpan:
    return ReceivedSpan(
        span.name,
        KINDS[span.kind],
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        _values(span.attributes),
        span.status.code == 2,
        str(span),
        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
