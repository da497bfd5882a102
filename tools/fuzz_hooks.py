"""What Schemathesis must know to ask the API well: loaded by tools/fuzz_api.py."""

from __future__ import annotations

from itertools import count
from typing import Any

import schemathesis
from hypothesis import strategies as st

_KEY = "Idempotency-Key"
_KEY_CHARS = 256
_numbers = count()

schemathesis.openapi.format("json", st.sampled_from(['{"any_tags": ["home"]}', "{}"]))
schemathesis.openapi.format("cursor", st.nothing())  # only an answer has one


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:  # noqa: ARG001 - named by Schemathesis
    """Give each request an idempotency key of its own, and no cursor: both would make it part of another one."""
    headers = case.headers or {}
    for name in [one for one in headers if one.lower() == _KEY.lower()]:
        if isinstance(headers[name], str) and 0 < len(headers[name]) <= _KEY_CHARS:
            number = str(next(_numbers))
            headers[name] = headers[name][: _KEY_CHARS - len(number)] + number
    for place in (case.query, case.body):
        if isinstance(place, dict):
            _without_links(place)


def _without_links(place: dict[str, Any]) -> None:
    place.pop("cursor", None)
    place.pop("idempotency_key", None)
