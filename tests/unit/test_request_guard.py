"""RequestGuard: a body is handed on, and not kept beside."""

from __future__ import annotations

import asyncio
import time
import tracemalloc

import pytest

from memoryos import load_settings
from memoryos.interface.rest.configured_traces import traces_of
from memoryos.interface.rest.request_guard import RequestGuard
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.server_metrics import ServerMetrics

SIZE, PIECES = 4_000_000, 16
PATIENCE = 60.0  # seconds; nobody waits that long when all is well


@pytest.mark.once
def test_a_body_is_not_kept_beside_what_the_application_has_of_it():
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/memories",
        "raw_path": b"/v1/memories",
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "state": {},
    }
    held, statuses = [], []

    async def application(_, receive, send):
        held.append(len((await receive())["body"]))
        end = time.monotonic() + PATIENCE
        while tracemalloc.get_traced_memory()[0] > SIZE / 2:  # the thread that counts its values lets go of it later
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def admit(_):
        pass

    async def sent(message):
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    pieces = iter([*[True] * (PIECES - 1), False])

    async def receive():
        return {"type": "http.request", "body": bytes(SIZE // PIECES), "more_body": next(pieces)}

    traces = traces_of(load_settings())
    guard = RequestGuard(application, RestLimits(), ServerMetrics(), traces, admit)
    tracemalloc.start()
    try:
        asyncio.run(guard(scope, receive, sent))
    finally:
        tracemalloc.stop()
    assert (held, statuses) == ([SIZE], [204])
