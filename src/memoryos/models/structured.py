"""Structured answers: JSON of a given shape from models that may wrap it, break it or refuse.

The answer is checked against a pydantic model. One that does not fit is sent back once with what is wrong; a second
one that does not fit is a BadAnswer. Nothing of an answer that does not fit is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memoryos.errors import BadAnswer
from memoryos.models.chat import Answer, Message
from memoryos.models.shapes import all_storable, described
from memoryos.regex import regex

ANSWER_CHARS = 60_000  # a longer answer is none: what is asked for fits in a few thousand
_BEGINNINGS = 100  # braces that are tried; each may cost a walk to the end
_LAST_TOKEN = 6  # characters: an error in it is one of its missing end
_QUOTED_CHARS = 2_000  # of a wrong answer, when it is sent back

_BEGINS = regex(r"[{\[]")
_FENCED = regex(r"```[\w-]*[^\S\n]*\n(.*?)```", re.DOTALL)  # one way to match: no text makes it slow

Shape = TypeVar("Shape", bound=BaseModel)


def ask(answer: Callable[[Sequence[Message]], Answer], messages: Sequence[Message], shape: type[Shape]) -> Shape:
    """Ask for JSON of this shape. Raises BadAnswer, without quoting the answer, if the second try is invalid too."""
    first = answer(messages)
    try:
        return read(first.text, shape)
    except BadAnswer as error:
        again = answer([*messages, *_repair(first.text, error)])
        return read(again.text, shape)


def read(text: str, shape: type[Shape]) -> Shape:
    """The first JSON object in the text with the shape. Raises BadAnswer with the error."""
    if len(text) > ANSWER_CHARS:
        raise BadAnswer(f"the model sent {len(text):,} characters instead of a short JSON object")
    problems: list[str] = []
    for value in _values(text):
        try:
            return shape.model_validate(_framed(value, shape))
        except ValidationError as error:
            problems.append(described(error))
    raise BadAnswer(f"the model sent no usable JSON object ({problems[0] if problems else 'none was found'})")


def _repair(text: str, error: BadAnswer) -> list[Message]:
    wish = f"That cannot be used: {error}. Answer again with the JSON object alone, in the form described above."
    return [{"role": "assistant", "content": text[:_QUOTED_CHARS]}, {"role": "user", "content": wish}]


def _values(text: str) -> Iterator[Any]:
    """JSON objects, and lists of them, in code fences or else anywhere in the text; outermost first."""
    for part in (*_FENCED.findall(text), text):
        yield from _outermost(part)


def _outermost(text: str) -> Iterator[Any]:
    decoder, end = json.JSONDecoder(), 0
    for _ in range(_BEGINNINGS):
        begin = _BEGINS.search(text, end)
        if begin is None:
            return
        try:
            found, end = decoder.raw_decode(text, begin.start())
            value = all_storable(found)
        except (ValueError, RecursionError) as error:
            if begin.group() == "{" and _is_cut_off(text, error):
                return  # what is whole within half an object is not the answer
            end = begin.end()
        else:
            if isinstance(value, dict) or (value and all(isinstance(one, dict) for one in value)):
                yield value


def _is_cut_off(text: str, error: Exception) -> bool:
    """Whether the text is the valid beginning of JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated string") or error.pos >= len(text.rstrip()) - _LAST_TOKEN


def _framed(value: Any, shape: type[BaseModel]) -> Any:
    """A bare list as the first field of the object that was asked for."""
    return {next(iter(shape.model_fields)): value} if isinstance(value, list) else value
