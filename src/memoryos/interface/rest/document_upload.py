"""Document upload: `POST /v1/documents` with a body of plain text, which is stored while it arrives.

The thread that stores asks for the next bytes when it has stored the earlier ones, so that no more than a part of the
document is in memory, however fast it is sent.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any

from anyio import CapacityLimiter, from_thread, to_thread
from fastapi import FastAPI, Query, Request
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from memoryos.infrastructure.vault.patience import apart
from memoryos.interface.rest.desk import Desk, RestRequest
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.places import check_repeated
from memoryos.interface.rest.replays import idempotency_key
from memoryos.interface.rest.request_guard import ClientGone, too_large, too_slow
from memoryos.interface.rest.route import VERSION, Route
from memoryos.operation.intake.decoded import Decoded

UPLOAD = Route("documents.add", "POST", "/documents", status=201, named="ids", without=("text",), has_raw_body=True)

_PATH, _TYPE = VERSION + UPLOAD.path, "text/plain"


class UploadRoute(APIRoute):
    """The address of documents, for bodies of plain text alone."""

    def matches(self, scope: Scope) -> tuple[Match, Any]:
        """Whether it answers a request."""
        return super().matches(scope) if is_upload(scope) else (Match.NONE, {})


@dataclass
class ArrivingText:
    """The body of a request as pieces of text, for a thread that asks for one after the other."""

    desk: Desk
    asked: RestRequest
    _size: int = 0
    _checked: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._body = aiter(self.asked.request.stream())

    def __iter__(self) -> Iterator[str]:
        """Decode the pieces. Raises InvalidInput for what is not UTF-8."""
        return iter(Decoded(iter(lambda: from_thread.run(self._next), None), fix="Send it as UTF-8"))

    async def _next(self) -> bytes | None:
        """The next bytes; None at the end. Raises Refusing, PermissionDenied, ClientGone."""
        limits = self.desk.limits
        if time.monotonic() - self._checked >= limits.recheck_seconds:
            await self.desk.run(lambda: self.desk.admission.check(self.asked.asking))
            self._checked = time.monotonic()
        try:
            async with asyncio.timeout(limits.body_seconds):
                data = await anext(self._body, None)
        except TimeoutError:
            raise too_slow() from None
        except ClientDisconnect:
            raise ClientGone from None
        self._size += len(data or b"")
        if self._size > limits.document_bytes:
            raise too_large(limits.document_bytes)
        return data


def is_upload(scope: Scope) -> bool:
    """Whether a request sends a document as plain text."""
    if scope["path"] != _PATH or scope["method"] != UPLOAD.verb:
        return False
    return Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower() == _TYPE


def add_upload(app: FastAPI, desk: Desk) -> None:
    """Add the address to the application, before the one that takes JSON."""
    parameters = Parameters.of(UPLOAD)

    async def handle(request: Request, query: Any) -> Response:
        check_repeated(parameters, request.query_params)
        most, length = desk.limits.document_bytes, request.headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > most:
            raise too_large(most)
        asked = RestRequest(request, query, None, {})
        ids = await to_thread.run_sync(lambda: _stored(desk, parameters, asked), limiter=CapacityLimiter(1))
        return Response(json.dumps({UPLOAD.named: ids}), UPLOAD.status, media_type="application/json")

    handle.__annotations__ = {"request": Request, "query": Annotated[parameters.query, Query()], "return": Response}
    app.router.add_api_route(
        _PATH,
        handle,
        methods=[UPLOAD.verb],
        name=UPLOAD.operation,
        include_in_schema=False,
        response_class=Response,
        route_class_override=UploadRoute,
    )


def with_upload(paths: dict[str, Any]) -> None:
    """Tell in the description of the address that it takes plain text, too, with all else in the query."""
    body = paths[_PATH]["post"]["requestBody"]
    schema = {"type": "string", "minLength": 1}
    body["content"][_TYPE] = {"schema": schema, "example": "Bees are insects."}
    body["description"] = "JSON, or the document as plain text; then all other parameters are in the address."


def _stored(desk: Desk, parameters: Parameters, asked: RestRequest) -> list[str]:
    _, named = parameters.arguments(asked.path, asked.query, None)
    if (key := idempotency_key(asked.request)) is not None:
        named.setdefault("idempotency_key", key)
    return apart(lambda: desk.memory(parameters, asked).documents.add(ArrivingText(desk, asked), **named))
