"""Checks of model output: numbers of any length are read, errors name place and rule, and text is made storable."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

MOST_JSON = 2 * 2**20  # bytes parsed at once: all other calls wait, and 128,000 tokens are less in any language
_ERRORS_NAMED = 3
_DIGITS = 20  # of a whole number; Python refuses to read one of more than 4,300


def parsed(sent: str | bytes) -> Any:
    """The JSON that a server sent; a very long whole number is a float. Raises ValueError and RecursionError."""
    return json.loads(sent, parse_int=_number)


def _number(digits: str) -> float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


def described(error: ValidationError) -> str:
    """The error by place and rule alone, so that values stay out of logs and job causes."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    named = [f"{'.'.join(map(str, one['loc'])) or 'object'}: {one['type']}" for one in found[:_ERRORS_NAMED]]
    return "; ".join(named)


def storable(text: str) -> str:
    """The text without NUL; halves of characters (lone surrogates) are made whole, or U+FFFD."""
    text = text.replace("\x00", "")
    if text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def all_storable(value: Any) -> Any:
    """The value of some JSON with all its texts made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [all_storable(one) for one in value]
    if isinstance(value, dict):
        return {storable(name): all_storable(one) for name, one in value.items()}
    return value
