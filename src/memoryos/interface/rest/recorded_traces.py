"""Recorded traces: spans for OpenTelemetry, sent over OTLP. No span has a word, a name or an id of a request.

The conventions ask for more of an HTTP request than is here: its path, its query and the client's address would tell
who asks and for what.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Self

from anyio import to_thread
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from memoryos.distribution import VERSION
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.request_passage import OTHER, UNKNOWN, RequestPassage
from memoryos.interface.rest.server_traces import TRACE_HEADERS, ServerTraces, TracedCall

_W3C = TraceContextTextMapPropagator()
_CLOSING_SECONDS = 1.5  # for what is not sent yet
_STOPPING_SECONDS = 0.5  # for what cannot be sent
_GONE = "ClientGone"


class _Exporter(OTLPSpanExporter):
    """The exporter of the SDK, which may be ended twice."""

    _is_ended = False

    def shutdown(self) -> None:
        """End what it sends, and what it waits for to send it again."""
        if not self._is_ended:
            self._is_ended = True
            super().shutdown()  # type: ignore[no-untyped-call]


class RecordedTraces(ServerTraces):
    """The spans of one server: one for each request, and those of the parts that take its time."""

    def __init__(self, provider: TracerProvider, exporter: OTLPSpanExporter) -> None:
        self._provider = provider
        self._exporter = exporter
        self._tracer: Tracer = provider.get_tracer("memoryos", VERSION)

    @classmethod
    def exported(cls) -> Self:
        """To where the variables of OpenTelemetry say, or http://localhost:4318."""
        # It is not the provider of the process: the spans of other libraries are not ours to send.
        provider, exporter = TracerProvider(resource=_resource(), shutdown_on_exit=False), _Exporter()
        provider.add_span_processor(BatchSpanProcessor(exporter))
        return cls(provider, exporter)

    @contextmanager
    def request(self, passage: RequestPassage) -> Iterator[None]:
        """The span of a request, which goes on with the trace of its caller."""
        known = {"http.request.method": _method(passage), "url.scheme": passage.scope.get("scheme", "http")}
        parent = _W3C.extract(_told(passage.scope["headers"]), Context())
        with self._begun("HTTP", SpanKind.SERVER, known, parent) as span:
            try:
                yield
            finally:
                _end(span, passage)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """The span of a part of a request. What it fails with has its class there, and no message."""
        with self._begun(name, SpanKind.INTERNAL, {}) as span, _failing(span):
            yield

    @contextmanager
    def call(self, method: str, host: str, port: int | None) -> Iterator[TracedCall]:
        """The span of a request to another server, until the headers of its answer are there."""
        known: dict[str, str | int] = {"http.request.method": method, "server.address": host}
        if port:
            known["server.port"] = port
        call, carrier = TracedCall(), dict[str, str]()
        with self._begun(method, SpanKind.CLIENT, known) as span, _failing(span):
            _W3C.inject(carrier)
            call.headers += [(name.encode(), value.encode()) for name, value in carrier.items()]
            yield call
            span.set_attribute("http.response.status_code", call.status)
            if call.status >= 400:
                _fail(span, str(call.status))

    async def close(self) -> None:
        """Send what is not sent yet; what cannot be sent at once is given up."""
        closing = asyncio.ensure_future(to_thread.run_sync(self._provider.shutdown, abandon_on_cancel=True))
        done, _ = await asyncio.wait({closing}, timeout=_CLOSING_SECONDS)
        if not done:
            self._exporter.shutdown()  # so that it does not try again, which it still says
            await asyncio.wait({closing}, timeout=_STOPPING_SECONDS)
        closing.cancel()

    def _begun(
        self, name: str, kind: SpanKind, known: Mapping[str, str | int], parent: Context | None = None
    ) -> AbstractContextManager[Span]:
        # Left to itself, a span would note the message and the trace of an error.
        return self._tracer.start_as_current_span(
            name, parent, kind, known, record_exception=False, set_status_on_exception=False
        )


def _end(span: Span, passage: RequestPassage) -> None:
    name = "HTTP" if passage.method == OTHER else passage.method
    if passage.route != UNKNOWN:
        span.set_attribute("http.route", passage.route)
        name = f"{name} {passage.route}"
    span.update_name(name)
    if passage.status:
        span.set_attribute("http.response.status_code", passage.status)
    error = passage.error or ("" if passage.is_answered else _GONE)
    if error or passage.status >= 500:
        _fail(span, error or str(passage.status))


@contextmanager
def _failing(span: Span) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        _fail(span, error.name if isinstance(error, Refusing) else type(error).__name__)
        raise


def _fail(span: Span, error: str) -> None:
    span.set_attribute("error.type", error)
    span.set_status(StatusCode.ERROR)


def _method(passage: RequestPassage) -> str:
    return "_OTHER" if passage.method == OTHER else passage.method


def _told(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers if name in TRACE_HEADERS}


def _resource() -> Resource:
    found = Resource.create()
    is_named = not str(found.attributes["service.name"]).startswith("unknown_service")
    return found if is_named else found.merge(Resource({"service.name": "memoryos"}))
