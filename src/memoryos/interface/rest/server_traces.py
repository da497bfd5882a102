"""Server traces: the spans of requests. This class records none; `recorded_traces` does, and imports OpenTelemetry."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from memoryos.interface.rest.request_passage import RequestPassage

TRACE_HEADERS = (b"traceparent", b"tracestate")  #: of W3C Trace Context


@dataclass(slots=True)
class TracedCall:
    """A request to another server."""

    headers: list[tuple[bytes, bytes]] = field(default_factory=list)  #: which tell it the trace; none without one
    status: int = 0  #: of its answer


class ServerTraces:
    """The spans of one server: none."""

    def request(self, passage: RequestPassage) -> AbstractContextManager[None]:
        """The span of a request, which has what the passage has at the end of the block."""
        del passage
        return nullcontext()

    def step(self, name: str) -> AbstractContextManager[None]:
        """The span of a part of a request."""
        del name
        return nullcontext()

    def call(self, method: str, host: str, port: int | None) -> AbstractContextManager[TracedCall]:
        """The span of a request to another server."""
        del method, host, port
        return nullcontext(TracedCall())

    async def close(self) -> None:
        """Send what is not sent yet."""
