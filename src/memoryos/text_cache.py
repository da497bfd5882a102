"""Text cache: `lru_cache` for functions of what is stored, which an erasure empties: their keys are words of people."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")

SHORT = 1_000  # characters: nearly all turns of a talk

_CACHES: WeakValueDictionary[int, _lru_cache_wrapper[object]] = WeakValueDictionary()  # by their `id`


def text_cache(most: int) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Keep the results for the latest texts, at most so many, until something is erased."""

    def cached(function: Callable[..., T]) -> _lru_cache_wrapper[T]:
        made = lru_cache(most)(function)
        _CACHES[id(made)] = made
        return made

    return cached


def short_text_cache(most: int, longest: int = SHORT) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """The same for a function of one text; for a text of more than so many characters, nothing is kept."""

    def cached(function: Callable[[str], T]) -> Callable[[str], T]:
        known = text_cache(most)(function)

        @wraps(function)
        def of(text: str) -> T:
            return known(text) if len(text) <= longest else function(text)

        return of

    return cached


def forget_texts() -> None:
    """Empty the text caches of this process."""
    for found in _CACHES.valuerefs():  # a list, made in one step: no lock, which a forked process could find taken
        if (one := found()) is not None:
            one.cache_clear()
