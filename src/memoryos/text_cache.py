"""Text cache: `lru_cache` for functions of what is stored, which an erasure empties: their keys are words of people."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")

_CACHES: WeakValueDictionary[int, _lru_cache_wrapper[object]] = WeakValueDictionary()  # by their `id`


def text_cache(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Keep the results for the latest texts, at most so many, until something is erased."""

    def cached(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        made = lru_cache(most)(function)
        _CACHES[id(made)] = made
        return made

    return cached


def forget_texts() -> None:
    """Empty the text caches of this process."""
    for found in _CACHES.valuerefs():  # a list, made in one step: no lock, which a forked process could find taken
        if (one := found()) is not None:
            one.cache_clear()
