"""Problems: how an error becomes an answer (RFC 9457, application/problem+json), with one table for all of them.

A 5xx answer has only the fixed text of its error class, because the error's message may name the path of the store.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memoryos import errors
from memoryos.errors import InvalidInput, MemoryOSError

MEDIA_TYPE = "application/problem+json"


class Refusing(Exception):
    """A request that is refused before the memory is asked."""

    def __init__(
        self, status: int, name: str, problem: str, fix: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(problem)
        self.status = status
        self.name = name
        self.problem = problem
        self.fix = fix
        self.headers = dict(headers or {})


# The first class that fits decides. A test checks that every error of the library has its line.
STATUSES: tuple[tuple[type[MemoryOSError], int], ...] = (
    (errors.InvalidInput, 422),
    (errors.NotFound, 404),
    (errors.PermissionDenied, 403),
    (errors.CubeProtected, 409),
    (errors.TransitionRefused, 409),
    (errors.StaleVersion, 412),
    (errors.Refused, 409),
    (errors.ModelNotConfigured, 501),
    (errors.ModelUnavailable, 503),
    (errors.BudgetSpent, 503),
    (errors.ModelError, 502),
    (errors.DocumentIncomplete, 500),
    (errors.StillRunning, 504),
    (errors.MissingExtra, 501),
    (errors.IdTaken, 409),
    (errors.LeaseLost, 409),
    (errors.ChangedMeanwhile, 409),
    (errors.StoreBusy, 503),
    (errors.OutcomeUnknown, 504),
    (errors.StoreUnreachable, 503),
    (errors.StoreReadOnly, 503),
    (errors.StoreFull, 507),
    (errors.StorageError, 500),
    (errors.MemoryOSError, 500),
)


def status_of(error: MemoryOSError) -> int:
    """The status of an error."""
    return next(status for kind, status in STATUSES if isinstance(error, kind))


def document_of(error: Exception) -> dict[str, Any]:
    """What an answer says of an error: type, title, status, detail, and where they are known the field and the fix."""
    if isinstance(error, MemoryOSError):
        return {**_told(error), **({"step": error.step} if error.step else {})}
    if isinstance(error, Refusing):
        return problem(error.status, error.name, error.problem, fix=error.fix)
    if isinstance(error, RequestValidationError):
        return _misread(error)
    if isinstance(error, HTTPException):
        return problem(error.status_code, _NAMES.get(error.status_code, "Refused"), str(error.detail))
    return problem(500, "Failure", "The server failed. Its log has the class of the error under this request id")


def answer(error: Exception, *, is_openai: bool = False) -> Response:
    """The answer to a request that failed; to a client of the OpenAI API, also in the form that it reads."""
    document = document_of(error)
    document |= {"error": _openai(document)} if is_openai else {}
    content = json.dumps(document, ensure_ascii=False).encode(errors="replace")  # a name may have half a character
    return Response(content, document["status"], _headers(error), MEDIA_TYPE)


def problem(status: int, name: str, detail: str, **more: Any) -> dict[str, Any]:
    """A document of RFC 9457."""
    return {"type": f"urn:memoryos:problem:{name}", "title": name, "status": status, "detail": detail, **more}


def _openai(document: Mapping[str, Any]) -> dict[str, Any]:
    """The same error as the OpenAI API tells errors."""
    fix = f". {document['fix']}" if "fix" in document else ""
    kind = "invalid_request_error" if document["status"] < 500 else "server_error"
    message = f"{document['detail']}{fix}"
    return {"message": message, "type": kind, "param": document.get("field"), "code": document["title"]}


_NAMES = {400: "Unreadable", 404: "NotFound", 405: "MethodNotAllowed"}


def _told(error: MemoryOSError) -> dict[str, Any]:
    status, name = status_of(error), type(error).__name__
    if isinstance(error, InvalidInput):
        return problem(status, name, f"{error.field}: {error.problem}", field=error.field, fix=error.fix)
    if isinstance(error, errors.StaleVersion):
        return problem(status, name, str(error), expected=error.expected, stored=error.stored)
    if status >= 500:
        return problem(status, name, (type(error).__doc__ or name).split("\n")[0])
    return problem(status, name, str(error))


def _misread(error: RequestValidationError) -> dict[str, Any]:
    """The first thing that is wrong with a request, without its value; an unknown field first."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    place, *parts = (str(part) for part in first["loc"])
    if first["type"] == "json_invalid":
        return problem(400, "Unreadable", "The body is not JSON", fix="Send a JSON object")
    name = ".".join(parts) or place
    if first["type"] == "extra_forbidden":
        return problem(
            422, "InvalidInput", f"{name}: is unknown", field=name, fix="Leave it out; /openapi.json has the fields"
        )
    told = "is missing" if first["type"] == "missing" else first["msg"].removeprefix("Value error, ")
    return problem(
        422, "InvalidInput", f"{name}: {told}", field=name, fix="/openapi.json has the fields and their types"
    )


def _headers(error: Exception) -> dict[str, str]:
    if isinstance(error, Refusing):
        return error.headers
    if isinstance(error, HTTPException):
        return dict(error.headers or {})
    waits = getattr(error, "retry_after", None)
    if waits is None and isinstance(error, errors.StoreBusy | errors.StoreUnreachable):
        waits = 1
    return {} if waits is None else {"Retry-After": str(max(1, round(waits)))}
