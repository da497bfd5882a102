"""Desk: does what a request asks: finds out who asks, calls the memory in a thread, and writes the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from memoryos.caller import acting
from memoryos.errors import NotFound, StillRunning
from memoryos.infrastructure.vault.patience import apart, in_one_call
from memoryos.interface.rest.admission import Admission, Asking
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.problems import Refusing
from memoryos.interface.rest.replays import Replays, idempotency_key
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.server_traces import ServerTraces
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.operation.correction.forget import Forgotten
from memoryos.plain import Plain, plain
from memoryos.regex import regex

T = TypeVar("T")

_KEY_SECONDS = 2.0  #: at least, for which a chat waits until the store says whose a key is
_TAG = regex(r'"([0-9]{1,9})"')


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
    lookups: CapacityLimiter  #: threads of their own for the keys of chats: other work does not keep one waiting
    traces: ServerTraces
    replays: Replays = field(default_factory=Replays)

    async def answer(self, parameters: Parameters, asked: RestRequest) -> Response:
        """Do what is asked, and answer with JSON."""
        document = await self.run(lambda: self._done(parameters, asked), parameters.route.step)
        if document is None:
            return Response(status_code=204)
        content = json.dumps(document, ensure_ascii=False)
        return Response(content, parameters.route.status, media_type="application/json")

    async def admit(self, request: Request) -> Asking:
        """Who asks. A chat waits for the store for a short time: it can do without memory, or is refused.

        Raises Refusing.
        """
        if not self.admission.is_chat(request):
            return await self.run(lambda: self.admission.admit(request))
        if not self.admission.can_do_without(request):
            return await self._known(request)
        self.admission.count_first(request)
        try:
            async with asyncio.timeout(self.store.settings.upstream_memory_seconds):
                return await self.run(lambda: self.admission.admit(request, is_counted=True))
        except TimeoutError:
            return self.admission.do_without(request)

    async def _known(self, request: Request) -> Asking:
        """Who asks with a key, which the store alone knows. Raises Refusing (503) if it answers nobody."""
        asking = self.run(lambda: self.admission.admit(request), threads=self.lookups)
        seconds = max(_KEY_SECONDS, self.store.settings.upstream_memory_seconds)
        try:
            return await self.admission.keys_seen.wait(asking, seconds)
        except TimeoutError:
            problem, fix = "The store does not say who asks", "Ask again after the time of Retry-After"
            raise Refusing(503, "StoreUnreachable", problem, fix, {"Retry-After": "1"}) from None

    async def run(self, work: Callable[[], T], step: str = "", threads: CapacityLimiter | None = None) -> T:
        """Do the work in a thread, as one call for its waiting time; a step has a span of its own.

        Raises Refusing (504) if it takes too long; the thread then goes on to its end.
        """
        alone = partial(apart, partial(in_one_call, partial(self._stepped, work, step) if step else work))
        try:
            async with asyncio.timeout(self.limits.answer_seconds):
                return await to_thread.run_sync(alone, abandon_on_cancel=True, limiter=threads or self.threads)
        except StillRunning:  # which the call says of other work
            raise
        except TimeoutError:
            fix = "It may still be done: look, or repeat it with the same Idempotency-Key"
            raise Refusing(504, "TooLong", "The answer takes too long", fix) from None

    def _stepped(self, work: Callable[[], T], step: str) -> T:
        with self.traces.step(step):
            return work()

    def memory(self, parameters: Parameters, asked: RestRequest) -> Memory:
        """The memory that a request is about, used by who asks."""
        asking = asked.asking
        memory = self.store.by(asking.caller).of(parameters.owner(asked.query, asking.tenant))
        branch = parameters.branch(asked.query)
        return memory if branch is None else memory.branch(branch)

    def _done(self, parameters: Parameters, asked: RestRequest) -> Mapping[str, Any] | None:
        """Do what is asked, and return the document of the answer; None: there is nothing to tell."""
        route = parameters.route
        several, named = parameters.arguments(asked.path, asked.query, asked.body)
        named |= _expected(asked.request, parameters, named)
        key = idempotency_key(asked.request) if route.changes else None
        if key is not None and "idempotency_key" in parameters.known:
            named.setdefault("idempotency_key", key)
            key = None  # the store keeps it
        method = self._method(parameters, asked)

        def work() -> Mapping[str, Any] | None:
            result = method(*several, **named)
            if isinstance(result, Forgotten) and not (result.memories or result.places or result.rows or result.packs):
                raise NotFound("there is no memory of this user, agent and session")
            return None if result is None else document_of(result, route.named)

        if key is None:
            return work()
        request = (asked.asking.name, route.operation, key)
        return self.replays.once(request, _told(asked, named), work, lambda: self._check_still(parameters, asked))

    def _method(self, parameters: Parameters, asked: RestRequest) -> Callable[..., Any]:
        asking = asked.asking
        if parameters.route.is_of_store:
            thing: Any = self.store.by(asking.caller)
        else:
            thing = self.memory(parameters, asked)
        for name in parameters.route.name.split("."):
            thing = getattr(thing, name)
        found: Callable[..., Any] = thing
        return found

    def _check_still(self, parameters: Parameters, asked: RestRequest) -> None:
        """Raise PermissionDenied if the caller has lost the right to do this."""
        asking, route = asked.asking, parameters.route
        scope = None if route.is_of_store else parameters.owner(asked.query, asking.tenant)
        if asking.has_key:
            acting(asking.caller, lambda: self.store._engine.admit(route.action, scope))


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


def _expected(request: Request, parameters: Parameters, named: Mapping[str, Any]) -> Mapping[str, int]:
    """The expected version that the header If-Match names. Raises Refusing (400)."""
    told = request.headers.getlist("if-match")
    if not told or not parameters.route.changes:
        return {}
    if "expected_version" not in parameters.known:
        raise _unmatched("This address takes no If-Match", "Leave it out: nothing was changed")
    found = _TAG.fullmatch(told[0].strip())
    if len(told) > 1 or not found:
        raise _unmatched("If-Match is not one version in quotes", 'Send the version, such as If-Match: "1"')
    version = int(found[1])
    if named.get("expected_version") not in (None, version):
        raise _unmatched("If-Match and expected_version differ", "Send one of them")
    return {"expected_version": version}


def _unmatched(problem: str, fix: str) -> Refusing:
    return Refusing(400, "Unreadable", problem, fix)


def _told(asked: RestRequest, named: Mapping[str, Any]) -> bytes:
    """What a request asks, to compare it with another one."""
    told: list[Any] = [asked.asking.tenant, dict(asked.path), asked.query.model_dump(mode="json")]
    told += [asked.body.model_dump(mode="json") if asked.body else None, named.get("expected_version")]
    return json.dumps(told, sort_keys=True).encode(errors="replace")
