"""JSON body: reads JSON in which each member of an object stands once: of two, which one counts would be a guess."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memoryos.errors import InvalidInput
from memoryos.interface.rest.problems import Refusing

_SHOWN = 64  # characters of a name


class JsonRequest(Request):
    """A request whose body FastAPI reads in this way."""

    async def json(self) -> Any:
        """The value of the body. Raises ValueError, and InvalidInput for a member that stands twice."""
        return read_json(await self.body())


class JsonRoute(APIRoute):
    """An address that reads the body of a request in this way."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """What answers a request."""
        handle = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await handle(JsonRequest(request.scope, request.receive))
            except HTTPException as error:
                if isinstance(error.__cause__, InvalidInput):  # FastAPI tells all errors of a body as one
                    raise error.__cause__ from None
                if isinstance(error.__cause__, ValueError | RecursionError):  # no UTF-8, too deep, or too long a number
                    fix = "Send a JSON object, in UTF-8, of usual depth and numbers"
                    raise Refusing(400, "Unreadable", "The body cannot be read as JSON", fix) from None
                raise

        return answered


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError, RecursionError, and InvalidInput for a member that stands twice."""
    return json.loads(text, object_pairs_hook=each_once)


def each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping of names and values. Raises InvalidInput if a name stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise InvalidInput(twice[:_SHOWN], "is sent twice", "Send it once")
    return found
