"""What the server answers is what /openapi.json says that it answers."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from memoryos.interface.rest.answer_schema import AnswerSchemas
from memoryos.interface.rest.route import Route
from memoryos.interface.rest.routes import ROUTES
from memoryos.interface.rest.samples import answer_sample

_PART = re.compile(r"\\\{\w+(:path)?\\\}")  # of a path that is escaped


def check_answer(verb: str, path: str, answer: httpx.Response) -> None:
    """Raise ValidationError if an answer of the REST interface is not as it is described."""
    route = next((one for one in ROUTES if one.verb == verb and _address(one).fullmatch(path)), None)
    if route is not None and answer.status_code == route.status and answer.content:
        _validator(route).validate(answer.json())


@cache
def _address(route: Route) -> re.Pattern[str]:
    return re.compile(_PART.sub(lambda part: ".+" if part[1] else "[^/]+", re.escape(route.path)))


@cache
def _validator(route: Route) -> Draft202012Validator:
    schemas = AnswerSchemas()
    told: dict[str, Any] = schemas.answer(route, answer_sample(route))
    return Draft202012Validator({**told, "components": {"schemas": schemas.classes}})
