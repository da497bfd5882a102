"""Keywords: the names of the arguments that a public method takes, and the error for what it does not take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from inspect import CO_VARARGS, Parameter, signature, unwrap
from types import FunctionType
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
    """Make a function raise a TypeError that helps, for arguments that it does not take."""
    check = argument_check(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        check(args, kwargs)
        return function(*args, **kwargs)

    return call


def argument_check(function: Callable[..., Any]) -> Callable[[Sequence[Any], Mapping[str, Any]], None]:
    """A check of the arguments of a call, `self` included: it raises TypeError, which names the right parameters."""
    known = cache(lambda: tuple(_parameters(function)))  # found out at the first call with keywords
    inner: FunctionType = unwrap(function)
    most = None if inner.__code__.co_flags & CO_VARARGS else inner.__code__.co_argcount
    ordered, named_only = _needed(inner)

    def check(args: Sequence[Any], given: Mapping[str, Any]) -> None:
        if most is not None and len(args) > most:
            raise TypeError(_too_many(function, args))
        for name in given:
            if name not in known():
                raise TypeError(_unknown(function.__qualname__, name, known()))
        if missing := [name for name in (*ordered[len(args) :], *named_only) if name not in given]:
            raise TypeError(f"{function.__qualname__}() needs {' and '.join(missing)}")

    return check


def _needed(function: FunctionType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parameters without a default: those that may be passed in order, and those by name alone."""
    code, names = function.__code__, function.__code__.co_varnames
    by_name = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    ordered = names[: code.co_argcount - len(function.__defaults__ or ())]
    return ordered, tuple(name for name in by_name if name not in (function.__kwdefaults__ or {}))


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
    if "filters" in known and _is_filter(name):
        hint = f" Pass filters={{{name!r}: ...}}."
    its = f"Its parameters: {', '.join(known)}" if known else "It has no parameters"
    return f"{method}() has no parameter {name!r}.{hint} {its}"


def _is_filter(name: str) -> bool:
    from memoryos.filter import FILTERS  # pydantic comes with it, and an import of the library is to be fast

    return name in FILTERS


def _too_many(function: Callable[..., Any], args: Sequence[Any]) -> str:
    parameters = [one for name, one in signature(function).parameters.items() if name not in ("self", "cls")]
    unnamed = [one.name for one in parameters if one.kind is Parameter.POSITIONAL_OR_KEYWORD]
    left = [name for name in _parameters(function) if name not in unnamed]
    given = len(args) - len(signature(function).parameters) + len(parameters)
    number = f"{len(unnamed) or 'no'} argument{'s' * (len(unnamed) > 1)} without a name"
    these = f" ({', '.join(unnamed)})" if unnamed else ""
    fix = f" Pass the others by name: {', '.join(left)}" if left else ""
    return f"{function.__qualname__}() takes {number}{these}, but got {given}.{fix}"
