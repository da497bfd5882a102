"""JSON places: where a value stands in the text of a JSON document, so that it changes at one place alone.

The document was read before: it is valid, and its outermost value is an object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import JSONDecoder, scanstring  # type: ignore[attr-defined]
from typing import Any

from memoryos.regex import regex

_BLANK = regex(r"[ \t\r\n]*")
_DECODER = JSONDecoder()


@dataclass(frozen=True, slots=True)
class JsonPlace:
    """A value, and the characters from its start to behind its end."""

    value: Any
    start: int
    end: int


def member(text: str, name: str, start: int = 0) -> JsonPlace | None:
    """The value of a member of the object that starts there; of several with the name, the last, as readers do."""
    found = None
    for key, place in _members(text, _behind_blank(text, start)):
        found = place if key == name else found
    return found


def element(text: str, start: int, index: int) -> JsonPlace:
    """An element of the array that starts there."""
    return next(place for number, place in enumerate(_elements(text, start)) if number == index)


def with_text(text: str, at: int, added: str) -> str:
    """The document with an insertion at a place."""
    return f"{text[:at]}{added}{text[at:]}"


def written(value: Any) -> str:
    """The JSON of a value."""
    return json.dumps(value, ensure_ascii=False)


def within_quotes(value: str) -> str:
    """The JSON of a text without its quotes."""
    return written(value)[1:-1]


def _members(text: str, start: int) -> Iterator[tuple[str, JsonPlace]]:
    at = _behind_blank(text, start + 1)
    while text[at] != "}":
        key, at = scanstring(text, at + 1)
        place = _value(text, _behind_blank(text, _behind_blank(text, at) + 1))  # behind the colon
        yield key, place
        at = _next(text, place.end)


def _elements(text: str, start: int) -> Iterator[JsonPlace]:
    at = _behind_blank(text, start + 1)
    while text[at] != "]":
        place = _value(text, at)
        yield place
        at = _next(text, place.end)


def _value(text: str, start: int) -> JsonPlace:
    value, end = _DECODER.raw_decode(text, start)
    return JsonPlace(value, start, end)


def _next(text: str, end: int) -> int:
    """Where the next key or element starts, or the bracket that ends all."""
    at = _behind_blank(text, end)
    return _behind_blank(text, at + 1) if text[at] == "," else at


def _behind_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
