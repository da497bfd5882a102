"""Desk: does what a request asks: finds out who asks, calls the memory in a thread, and writes the answer."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from memoryos.infrastructure.vault.patience import apart, in_one_call
from memoryos.interface.rest.admission import Admission, Asking
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.replays import Replays
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.plain import Plain, plain

T = TypeVar("T")

IDEMPOTENCY_KEY = "idempotency-key"


@dataclass(frozen=True, slots=True)
class RestRequest:
    """The parts of a request."""

    request: Request
    query: BaseModel
    body: BaseModel | None
    path: Mapping[str, str]

    @property
    def asking(self) -> Asking:
        """Who asks."""
        found: Asking = self.request.state.asking
        return found


@dataclass(frozen=True, slots=True)
class Desk:
    """Answers requests for one store."""

    store: MemoryOS
    admission: Admission
    limits: RestLimits
    threads: CapacityLimiter
    replays: Replays = field(default_factory=Replays)

    async def answer(self, parameters: Parameters, asked: RestRequest) -> Response:
        """Do what is asked, and answer with JSON."""
        route = parameters.route
        result = await self.run(lambda: self._done(parameters, asked))
        if result is None:
            return Response(status_code=204)
        document = document_of(result, route.named)
        return Response(json.dumps(document, ensure_ascii=False), route.status, media_type="application/json")

    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in a thread, as one call for its waiting time.

        Raises Refusing (504) if it takes too long; the thread then goes on to its end.
        """
        alone = partial(apart, partial(in_one_call, work))
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await to_thread.run_sync(alone, abandon_on_cancel=True, limiter=self.threads)
        except TimeoutError:
            fix = "It may still be done: look, or repeat it with the same Idempotency-Key"
            raise Refusing(504, "TooLong", "The answer takes too long", fix) from None

    def memory(self, parameters: Parameters, asked: RestRequest) -> Memory:
        """The memory that a request is about, used by who asks."""
        asking = asked.asking
        return self.store.of(parameters.owner(asked.query, asking.tenant), asking.caller)

    def _done(self, parameters: Parameters, asked: RestRequest) -> Any:
        asking = asked.asking
        several, named = parameters.arguments(asked.path, asked.query, asked.body)
        key = asked.request.headers.get(IDEMPOTENCY_KEY)
        if key is not None and "idempotency_key" in parameters.known:
            named.setdefault("idempotency_key", key)
            key = None  # the store keeps it
        if parameters.route.is_of_store:
            thing: Any = self.store if asking.caller is None else self.store.by(asking.caller)
        else:
            thing = self.memory(parameters, asked)
        for name in parameters.route.name.split("."):
            thing = getattr(thing, name)
        if key is None or parameters.route.verb == "GET":
            return thing(*several, **named)
        request = (asking.name, parameters.route.operation, key[:256])
        return self.replays.once(request, _digest(asked, asking.tenant), lambda: thing(*several, **named))


def document_of(result: Any, named: str = "") -> Any:
    """The JSON of a result: a document as it is, a list as `items`, another value under a name."""
    if isinstance(result, Plain | Mapping):
        told = plain(result)
        return {named: told} if named else told
    if named:
        return {named: [result] if named == "ids" and isinstance(result, str) else plain(result)}
    if isinstance(result, str):
        return {"id": result}
    if isinstance(result, int):
        return {"count": result}
    return {"items": plain(result), "cursor": None}


def _digest(asked: RestRequest, tenant: str) -> str:
    """What a request asks, as a hash: its words are not kept."""
    told: list[Any] = [tenant, dict(asked.path), asked.query.model_dump(mode="json")]
    told.append(asked.body.model_dump(mode="json") if asked.body else None)
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode(errors="replace")).hexdigest()
