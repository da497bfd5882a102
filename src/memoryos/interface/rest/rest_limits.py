"""RestLimits: how much one server takes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RestLimits:
    """The limits of a server. A request beyond one of them gets a problem that names it."""

    body_bytes: int = 10_000_000  #: of a request: more is 413
    bodies_bytes: int = 500_000_000  #: of all requests that are not answered yet: a body beyond it gets 503
    document_bytes: int = 1_000_000_000  #: of a document that is sent as plain text: more is 413
    values: int = 100_000  #: in the JSON of a request, which is parsed while all other requests wait: more is 413
    body_seconds: float = 30.0  #: until the body of a request, or the next piece of plain text, is there: later is 408
    head_seconds: float = 30.0  #: until the headers of a request are there: later the connection is closed
    answer_seconds: float = 60.0  #: until an answer begins: later is 504
    per_minute: int = 6_000  #: requests with one key, or without a key from one address: more is 429
    threads: int = 16  #: calls that run at the same time; others wait
    connections: int = 1_000  #: more are refused with 503
    closing_seconds: float = 10.0  #: for requests and background work that run when the server stops
    stall_seconds: float = 60.0  #: that an export waits for a reader that takes nothing: later it is cut short
    recheck_seconds: float = 1.0  #: between two checks of a key while an answer is streamed
