"""Neutral values: arguments of mem0 that mean nothing here, with the values with which they ask for nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

_NEUTRAL: Mapping[str, Mapping[str, Any]] = {  # by method: mem0's own defaults, which its callers often write out
    "add": {"prompt": None, "memory_type": None},
    "search": {"reference_date": None, "show_expired": False},
    "get_all": {"show_expired": False},
}


def with_meaning(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a method without those that ask for nothing; with any other value, such a one stays."""
    none = _NEUTRAL.get(method, {})
    return {name: value for name, value in given.items() if name not in none or value is not none[name]}


def neutral(method: Callable[P, T]) -> Callable[P, T]:
    """Let a method take the arguments that ask for nothing."""

    @wraps(method)
    def call(*args: Any, **given: Any) -> T:
        return method(*args, **with_meaning(method.__name__, given))

    return cast("Callable[P, T]", call)
