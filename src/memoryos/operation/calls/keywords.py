"""Keywords: the names of the arguments that a public method takes, and the error for one that it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, wraps
from inspect import Parameter, signature
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from memoryos.text import nearest

P = ParamSpec("P")
T = TypeVar("T")

# What callers of other libraries write, and our names for it; the first that a method has is meant.
_MEANT = {
    "limit": ("pages",),
    "k": ("pages", "limit"),
    "n": ("pages", "limit"),
    "top_k": ("pages", "limit"),
    "max_tokens": ("tokens",),
    "messages": ("query", "turns"),
    "text": ("query",),
    "content": ("query", "text"),
    "question": ("query",),
    "user_id": ("user",),
    "agent_id": ("agent",),
    "session_id": ("session",),
    "threshold": ("min_score",),
    "timestamp": ("at",),
    "name": ("title", "field"),
    "id": ("cube_id",),
}


def named(function: Callable[P, T]) -> Callable[P, T]:
    """Make a function raise a TypeError that helps, for a keyword that it does not have."""
    check = keyword_check(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        check(kwargs)
        return function(*args, **kwargs)

    return call


def keyword_check(function: Callable[..., Any]) -> Callable[[Mapping[str, Any]], None]:
    """A check of the keywords of a call: it raises TypeError, which names the function and its nearest parameters."""
    known = cache(lambda: tuple(_parameters(function)))  # found out at the first call with keywords

    def check(given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in known():
                raise TypeError(_unknown(function.__qualname__, name, known()))

    return check


def _parameters(function: Callable[..., Any]) -> Iterator[str]:
    """The names of the parameters, with the keys that `**only: Unpack[...]` stands for."""
    for name, one in signature(function).parameters.items():
        if one.kind is Parameter.VAR_KEYWORD:
            [keys] = get_args(get_type_hints(function)[name])
            yield from keys.__annotations__
        elif one.kind is not Parameter.VAR_POSITIONAL and name not in ("self", "cls"):
            yield name


def _unknown(method: str, name: str, known: tuple[str, ...]) -> str:
    meant = [one for one in _MEANT.get(name, ()) if one in known][:1] or nearest(name, known)
    hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
    its = f"Its parameters: {', '.join(known)}" if known else "It has no parameters"
    return f"{method}() has no parameter {name!r}.{hint} {its}"
