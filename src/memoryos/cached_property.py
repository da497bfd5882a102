"""cached_property: a value of an object that is found out at its first use, and kept with the object.

Until Python 3.12, `functools.cached_property` has a lock for all objects of a class. A process that is forked while
another thread holds it would wait for ever. Here there is none: threads may find the value out twice and keep one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - like the one of functools
    """A property that is computed once."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        self._find = find
        self.__doc__ = find.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, one: None, owner: type) -> cached_property[T]: ...

    @overload
    def __get__(self, one: object, owner: type) -> T: ...

    def __get__(self, one: object | None, owner: type) -> cached_property[T] | T:
        if one is None:
            return self
        return cast("T", vars(one).setdefault(self._name, self._find(one)))
