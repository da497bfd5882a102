"""Places: where a request has its parameters. What stands in the wrong place is refused, and never left out."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, get_args, get_origin

from fastapi.exceptions import RequestValidationError
from starlette.datastructures import QueryParams

from memoryos.errors import InvalidInput
from memoryos.filter import FILTERS
from memoryos.interface.rest.parameters import Parameters
from memoryos.interface.rest.problems import Refusing

_IN_ADDRESS, _IN_BODY = "Put {} into the address", "Put {} into the body"
_IN_FILTERS = 'Pass it in filters: {{"{}": ...}}'
_SHOWN = 64  # characters of a name


def check_repeated(parameters: Parameters, query: QueryParams) -> None:
    """Raise InvalidInput if the address has a parameter twice that is no list."""
    counts = Counter(name for name, _ in query.multi_items())
    for name, count in counts.items():
        if count > 1 and not _is_list(parameters.query.model_fields[name].annotation):
            raise InvalidInput(name, "is in the address more than once", "Pass it once")


def check_no_body(parameters: Parameters, body: bytes) -> None:
    """Raise InvalidInput, or Refusing if it is no JSON, if there is a body where none has a meaning."""
    if parameters.body is not None or not body:
        return
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise Refusing(400, "Unreadable", "The body is not JSON", "Send no body to this address") from None
    if told == {} or told is None:
        return
    names = list(told) if isinstance(told, dict) else ["body"]
    name = next((one for one in names if one in parameters.query.model_fields), names[0])[:_SHOWN]
    known = name in parameters.query.model_fields
    raise InvalidInput(name, "is unknown in the body", _IN_ADDRESS.format(name) if known else "Send no body")


def misplaced(parameters: Parameters | None, error: RequestValidationError) -> InvalidInput | None:
    """What is in the address and belongs into the body, or the other way round; None if nothing is."""
    if parameters is None:
        return None
    in_body = parameters.body.model_fields if parameters.body else {}
    known = {**in_body, **parameters.query.model_fields}
    for place, *parts in (one["loc"] for one in error.errors() if one["type"] == "extra_forbidden"):
        name = str(parts[0]) if len(parts) == 1 else ""
        if place == "query" and name in in_body:
            return InvalidInput(name, "is unknown in the address", _IN_BODY.format(name))
        if place == "body" and name in parameters.query.model_fields:
            return InvalidInput(name, "is unknown in the body", _IN_ADDRESS.format(name))
        if name in FILTERS and "filters" in known:
            return InvalidInput(name, "is unknown", _IN_FILTERS.format(name))
    return None


def _is_list(annotation: Any) -> bool:
    return (get_origin(annotation) or annotation) is list or any(map(_is_list, get_args(annotation)))
