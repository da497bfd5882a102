"""OwnKeyRoute: the address that tells a client what the key of its request opens."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from memoryos.interface.rest.desk import Desk, RestRequest
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.route import Route
from memoryos.plain import plain

OWN_KEY = Route("store:keys.info", "GET", "/keys/own", named="key", without=("key", "network"))


async def own_key(desk: Desk, _: Parameters, asked: RestRequest) -> Response:
    """Answer with the key of the request, without its secret; null if the store has no keys."""
    if not asked.asking.has_key:
        return JSONResponse({"key": None})
    key = asked.request.headers["authorization"].partition(" ")[2].strip()
    info = await desk.run(lambda: desk.store.keys.info(key))
    return JSONResponse({"key": plain(info)})
