"""Text cache: `lru_cache` for functions of what is stored, which an erasure empties: their keys are words of people."""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper, lru_cache
from threading import Lock
from typing import TypeVar
from weakref import WeakSet

T = TypeVar("T")

_CACHES: WeakSet[_lru_cache_wrapper[object]] = WeakSet()
_LOCK = Lock()


def text_cache(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Keep the results for the latest texts, at most so many, until something is erased."""

    def cached(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        made = lru_cache(most)(function)
        with _LOCK:
            _CACHES.add(made)
        return made

    return cached


def forget_texts() -> None:
    """Empty the text caches of this process."""
    with _LOCK:
        caches = list(_CACHES)
    for one in caches:
        one.cache_clear()
