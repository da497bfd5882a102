"""The REST application: every route of the table, health, metrics and the description of all of it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from typing import Annotated, Any

from anyio import CapacityLimiter
from fastapi import APIRouter, Body, FastAPI, Query, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match
from starlette.routing import Route as HttpRoute
from starlette.types import Scope

from memoryos.caller import NAME_LIMIT
from memoryos.distribution import VERSION as RELEASE
from memoryos.errors import MemoryOSError, StorageError
from memoryos.interface.page.page_files import PAGE, page_routes
from memoryos.interface.rest import streamed_routes
from memoryos.interface.rest.added_routes import AddedRoutes
from memoryos.interface.rest.admission import PURPOSE, SESSION, Admission
from memoryos.interface.rest.answer_schema import AnswerSchemas
from memoryos.interface.rest.body_meanings import with_body_meanings
from memoryos.interface.rest.closing_time import CLOSING, ClosingTime
from memoryos.interface.rest.configured_traces import traces_of
from memoryos.interface.rest.description import ADDRESS, Description
from memoryos.interface.rest.desk import Desk, RestRequest
from memoryos.interface.rest.document_upload import add_upload, is_upload, with_upload
from memoryos.interface.rest.json_body import JsonRoute
from memoryos.interface.rest.own_key_route import OWN_KEY, own_key
from memoryos.interface.rest.parameter_descriptions import described
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.places import check_no_body, check_repeated, misplaced
from memoryos.interface.rest.problems import MEDIA_TYPE, Refusing, answer, problem
from memoryos.interface.rest.rate import Rate
from memoryos.interface.rest.replays import IDEMPOTENCY_KEY, KEY_CHARS
from memoryos.interface.rest.request_guard import RequestGuard
from memoryos.interface.rest.rest_limits import RestLimits
from memoryos.interface.rest.route import VERSION, Route
from memoryos.interface.rest.routes import ROUTES
from memoryos.interface.rest.samples import answer_sample
from memoryos.interface.rest.server_metrics import ServerMetrics
from memoryos.memory_os import MemoryOS

_OPEN = {"/health", "/ready", ADDRESS, PAGE}  # without a key

Answering = Callable[[Desk, Parameters, RestRequest], Awaitable[Response]]

_WELL = {"status": "ok"}
_METRICS = "text/plain; version=0.0.4; charset=utf-8"

# What FastAPI records by itself, where the process or a variable asks for it, has queries, paths and error messages.
_NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}

_ABOUT = """Memory for AI agents over HTTP. Names are those of the Python library.

Each request about a memory names its owner in the query: `user`, and if need be `agent`, `session` and `namespace`. The
API key (`Authorization: Bearer KEY`) decides the tenant, the purposes that the header `X-MemoryOS-Purpose` may state,
the application, and possibly the session of `X-MemoryOS-Caller-Session`. An error is a problem of RFC 9457; `field` and
`fix` say what to change. A list has `items` and a `cursor`, which the next request passes on. Changes take an
`Idempotency-Key`."""

_PROBLEMS = {
    400: ("Unreadable", "The body is not JSON"),
    401: ("KeyNeeded", "The request has no valid API key"),
    403: ("PermissionDenied", "ann may not write this with its key"),
    404: ("NotFound", "there is no memory 'ID' of this user and agent"),
    408: ("TooSlow", "The request took too long to arrive"),
    409: ("CubeProtected", "the memory is frozen"),
    412: ("StaleVersion", "the memory ID has version 2, not 1, and nothing was changed"),
    413: ("TooLarge", "The body has more than 10,000,000 bytes"),
    415: ("UnsupportedMediaType", "The content type of the body is not application/json"),
    422: ("InvalidInput", "query: is empty"),
    429: ("TooManyRequests", "There are too many requests"),
    503: ("StoreBusy", "Another process holds the store's write lock; try again."),
    504: ("TooLong", "The answer takes too long"),
}
_OF_MODELS = {
    501: ("ModelNotConfigured", "No chat model is configured: set MEMORYOS_LLM_MODEL and MEMORYOS_LLM_API_KEY"),
    502: ("ModelError", "The model failed; nothing was stored."),
}
_TOLD = {**_PROBLEMS, **_OF_MODELS}
_WITH_MODEL = {
    *(streamed_routes.RESPOND.operation, "activations.answer", "adapters.train", "adapters.ask"),
    *("adapters.recollect", "forms.transform", "store:admin.verify_words"),
}


def rest_app(store: MemoryOS, limits: RestLimits | None = None, added: Sequence[AddedRoutes] = ()) -> FastAPI:
    """Return the application for a store, with the routes of other doors. It neither opens nor closes the store."""
    limits, metrics, traces = limits or RestLimits(), ServerMetrics(), traces_of(store.settings)
    foreign = tuple(path for one in added for path in one.foreign)
    unread = tuple(path for one in added for path in one.unread)
    openai = tuple(path for one in added for path in one.openai)
    admission = Admission(store, Rate(limits.per_minute), foreign, lambda scope: _is_served(app, scope), openai)
    threads, lookups = CapacityLimiter(limits.threads), CapacityLimiter(limits.threads)
    desk = Desk(store, admission, limits, threads, lookups, traces)
    app = FastAPI(
        title="MemoryOS",
        version=RELEASE,
        description=_ABOUT,
        redirect_slashes=False,
        openapi_url=None,  # it has a route of our own
        docs_url=None,
        redoc_url=None,
        lifespan=partial(_life, added, desk),
        telemetry=_NO_TELEMETRY,
    )
    app.state.desk = desk
    first, last = ([door for door in added if door.is_first is is_first] for is_first in (True, False))
    app.router.routes.extend(route for door in first for route in door.routes(desk, metrics))
    add_upload(app, desk)
    app.router.routes.extend(_routes())
    _add_probes(app, desk, metrics)
    app.router.routes.extend(page_routes())
    app.router.routes.extend(route for door in last for route in door.routes(desk, metrics))

    def refused(scope: Scope, error: Exception) -> Response:
        error = _allowed(app, error, scope) if isinstance(error, HTTPException) else error
        return answer(error, is_openai=scope["path"].startswith(openai) or (bool(openai) and "route" not in scope))

    for kind in (MemoryOSError, Refusing, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, partial(_failed, refused))

    async def admit(request: Request) -> None:
        if not is_open(request.scope["path"]):
            request.state.asking = await desk.admit(request)

    app.add_middleware(
        RequestGuard,
        limits=limits,
        metrics=metrics,
        traces=traces,
        admit=admit,
        refuse=refused,
        unread=unread,
        is_streamed=is_upload,
    )
    _describe(app, desk, added)
    return app


def _describe(app: FastAPI, desk: Desk, added: Sequence[AddedRoutes]) -> None:
    """Add the address of the description. It needs no key, so its requests are counted by their address."""
    described = app.openapi
    description = Description(lambda: _with_problem(described(), added))
    app.openapi = description.document  # type: ignore[method-assign]

    async def answered(request: Request) -> Response:
        desk.admission.count(request)
        return await desk.run(lambda: description.answer(request))

    app.add_route(ADDRESS, answered, include_in_schema=False)


def is_open(path: str) -> bool:
    """Whether an address is answered without a key; what is below that of the page are files of the program."""
    return path in _OPEN or path.startswith(f"{PAGE}/")


@asynccontextmanager
async def _life(added: Sequence[AddedRoutes], desk: Desk, _: FastAPI) -> AsyncIterator[dict[str, ClosingTime]]:
    """The life of the application. Its state has the time to close, which the server begins before the requests end."""
    with suppress(StorageError, Refusing):  # then the first request asks again
        await desk.run(lambda: desk.admission.keys_seen.look(desk.store))
    closing = ClosingTime(desk.limits.closing_seconds)
    yield {CLOSING: closing}
    closing.begin()
    for door in added:
        await door.close(closing.left)
    await desk.traces.close()


def _with_problem(document: dict[str, Any], added: Sequence[AddedRoutes]) -> dict[str, Any]:
    """The description of the application with the added doors, and with the schema to which all problems refer."""
    for door in added:
        document["paths"] |= door.described()
    with_upload(document["paths"])
    _with_answers(document["paths"])
    parts = document["components"]
    parts["schemas"] |= {**_ANSWERS.classes, "Problem": _SCHEMA}
    with_body_meanings(parts["schemas"], (*ROUTES, *streamed_routes.STREAMED))
    parts["responses"] = {f"Problem{status}": _described(status, *one) for status, one in _TOLD.items()}
    for address, path in document["paths"].items():
        for operation in path.values():
            _refer(operation["responses"])
            if not is_open(address):
                others = [one for one in operation.get("parameters", ()) if one not in _STATED]
                operation["parameters"] = [*others, *_STATED]
            if "parameters" in operation:
                operation["parameters"] = described(operation)
    return document


def _with_answers(paths: dict[str, Any]) -> None:
    """Have each operation of ours show what its answer looks like."""
    described = {one["operationId"]: one for path in paths.values() for one in path.values()}
    for route in (*ROUTES, *streamed_routes.STREAMED):
        good = described[_operation_id(route)]["responses"][str(route.status)] if _has_answer(route) else {}
        for kind, told in good.get("content", {}).items():
            told.update(streamed_routes.SHOWN.get(kind) or _shown(route))
    for path in ("/health", "/ready"):
        paths[path]["get"]["responses"]["200"]["content"]["application/json"]["example"] = _WELL
    metrics = paths["/metrics"]["get"]["responses"]["200"]["content"][_METRICS]
    metrics["example"] = "memoryos_http_requests_in_progress 1.0"


def _has_answer(route: Route) -> bool:
    return inspect.signature(route.method).return_annotation not in (None, "None")


@cache
def _shown(route: Route) -> dict[str, Any]:
    """The names that a document has, and one of its kind."""
    example = answer_sample(route)
    return {"schema": _ANSWERS.answer(route, example), "example": example}


def _operation_id(route: Route) -> str:
    return route.operation.replace(".", "_").replace(":", "_")


def _refer(answers: dict[str, Any]) -> None:
    for status in map(str, _TOLD):
        if status in answers:
            answers[status] = {"$ref": f"#/components/responses/Problem{status}"}


def _is_served(app: FastAPI, scope: Scope) -> bool:
    return any(route.matches(scope)[0] is not Match.NONE for route in app.router.routes)


def _allowed(app: FastAPI, error: HTTPException, scope: Scope) -> HTTPException:
    """The refusal of a method, with all methods that the address takes: there is a route for each."""
    if error.status_code != 405:
        return error
    found = [one for one in app.router.routes if isinstance(one, HttpRoute) and one.matches(scope)[0] is not Match.NONE]
    path = next((one.path for one in found if one.path == scope["path"]), found[0].path)  # else a value stands in it
    methods = sorted({method for one in found if one.path == path for method in one.methods or ()})
    return HTTPException(405, error.detail, {"Allow": ", ".join(methods)})


async def _failed(refused: Callable[[Scope, Exception], Response], request: Request, error: Exception) -> Response:
    if isinstance(error, RequestValidationError):
        operation = getattr(request.scope.get("route"), "name", "")
        route = next((one for one in (*ROUTES, *streamed_routes.STREAMED) if one.operation == operation), None)
        return answer(misplaced(Parameters.of(route) if route else None, error) or error)
    return refused(request.scope, error)


@cache
def _routes() -> list[BaseRoute]:
    """The routes of all applications of this process: to read what each takes is half of the work of making one."""
    router = APIRouter(route_class=JsonRoute)
    for route in ROUTES:
        _add(router, route, own_key if route is OWN_KEY else Desk.answer)
    _add(router, streamed_routes.RESPOND, streamed_routes.respond, streamed_routes.EVENTS)
    _add(router, streamed_routes.EXPORT, streamed_routes.export, streamed_routes.LINES)
    _add(router, streamed_routes.ATTACHMENT, streamed_routes.attachment, "application/octet-stream")
    return router.routes


def _add(router: APIRouter, route: Route, answering: Answering, streamed: str | None = None) -> None:
    parameters = Parameters.of(route)

    async def handle(request: Request, query: Any, body: Any = None, **path: str) -> Response:
        check_repeated(parameters, request.query_params)
        check_no_body(parameters, await request.body())
        return await answering(request.app.state.desk, parameters, RestRequest(request, query, body, path))

    handle.__signature__ = _signature(parameters)  # type: ignore[attr-defined]
    summary, _, rest = (inspect.getdoc(route.method) or "").partition("\n")
    router.add_api_route(
        VERSION + route.path,
        handle,
        methods=[route.verb],
        name=route.operation,
        operation_id=_operation_id(route),
        summary=summary,
        description=f"{rest.strip()}\n\nIn Python: `{route.name}`.".strip(),
        tags=[route.name.partition(".")[0] if "." in route.name else "memory"],
        dependencies=[Security(HTTPBearer(auto_error=False))],
        response_class=Response,
        status_code=route.status,
        responses=_answers(parameters, streamed),
        openapi_extra=_header(parameters),
    )


def _signature(parameters: Parameters) -> inspect.Signature:
    """What FastAPI reads to find the parts of a request."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parts = [
        inspect.Parameter("request", keyword, annotation=Request),
        inspect.Parameter("query", keyword, annotation=Annotated[parameters.query, Query()]),
        *(inspect.Parameter(name, keyword, annotation=str) for name in parameters.in_path),
    ]
    if parameters.body:
        is_needed = any(one.is_required() for one in parameters.body.model_fields.values())
        kind: Any = Annotated[parameters.body, Body()] if is_needed else Annotated[parameters.body | None, Body()]
        default = inspect.Parameter.empty if is_needed else None
        parts.append(inspect.Parameter("body", keyword, annotation=kind, default=default))
    return inspect.Signature(parts)


def _answers(parameters: Parameters, streamed: str | None) -> dict[int | str, dict[str, Any]]:
    returned = inspect.signature(parameters.route.method).return_annotation
    told = f"`{returned}` as a document."
    kind: dict[str, Any] = {"application/json": {"schema": {"type": "object"}}}
    if streamed:
        told = "The answer in pieces."
        kind = ({} if parameters.route is not streamed_routes.RESPOND else kind) | {streamed: {}}
    good: dict[int | str, dict[str, Any]] = (
        {204: {"description": "It is done."}}
        if not _has_answer(parameters.route)
        else {parameters.route.status: {"description": told, "content": kind}}
    )
    problems = _TOLD if parameters.route.operation in _WITH_MODEL else _PROBLEMS
    return {**good, **{status: {"description": ""} for status in problems}}


def _described(status: int, name: str, detail: str) -> dict[str, Any]:
    example = problem(status, name, detail)
    return {"description": detail, "content": {MEDIA_TYPE: {"schema": _PROBLEM, "example": example}}}


_ANSWERS = AnswerSchemas()
_PROBLEM = {"$ref": "#/components/schemas/Problem"}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Problem",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri", "description": "The name of the problem, which is no address."},
        "title": {"type": "string", "description": "The class of the error."},
        "status": {"type": "integer", "description": "The status of the answer."},
        "detail": {"type": "string", "description": "What is wrong, in a sentence."},
        "field": {"type": "string", "description": "The field that is wrong."},
        "fix": {"type": "string", "description": "What to do."},
        "step": {"type": "string", "description": "The step of a pipeline that failed."},
        "expected": {"type": "integer", "description": "The version that the request expected."},
        "stored": {"type": "integer", "description": "The version that is stored in its place."},
    },
}


_STATED: list[dict[str, Any]] = [
    {
        "name": name,
        "in": "header",
        "required": False,
        "description": f"{told} Policies see it.",
        "schema": {"type": "string", "minLength": 1, "maxLength": NAME_LIMIT, "pattern": r"[^ \t]"},
    }
    for name, told in (
        (PURPOSE, "What the request is for, in UTF-8: one of the purposes of its key."),
        (SESSION, "The session in which the caller acts, in UTF-8: that of its key, if the key has one."),
    )
]


def _header(parameters: Parameters) -> dict[str, Any]:
    if not parameters.route.changes:
        return {}
    told = "A second request with the same key changes nothing, and gets the ids and counts of the first answer."
    header = {"name": IDEMPOTENCY_KEY, "in": "header", "required": False, "description": told}
    kind = {
        "type": "string",
        "minLength": 1,
        "maxLength": KEY_CHARS,
        "pattern": r"[^ \t]",
    }
    return {"parameters": [{**header, "schema": kind}]}


def _add_probes(app: FastAPI, desk: Desk, metrics: ServerMetrics) -> None:
    @app.get("/health", tags=["server"], summary="Whether the process runs.")
    async def health() -> JSONResponse:
        return JSONResponse(_WELL)

    @app.get("/ready", tags=["server"], summary="Whether the store answers.")
    async def ready() -> JSONResponse:
        await desk.run(desk.store.keys.exist)
        return JSONResponse(_WELL)

    told = {"description": "Counts and times.", "content": {_METRICS: {"schema": {"type": "string"}}}}

    @app.get(
        "/metrics",
        tags=["server"],
        summary="Counts and times, for Prometheus.",
        response_class=Response,
        dependencies=[Security(HTTPBearer(auto_error=False))],
        responses={200: told, **{status: {"description": ""} for status in (401, 403, 422, 429)}},
    )
    async def numbers() -> Response:
        return Response(metrics.text(), media_type=_METRICS)
