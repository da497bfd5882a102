"""Progress callbacks of measurements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Progress = Callable[[str, int, int], None]  # called with (what is being done, done, total)

T = TypeVar("T")


def unwatched(_what: str, _done: int, _total: int) -> None:
    """Ignore progress."""


def each(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """Yield the items, and report progress after each."""
    for number, item in enumerate(items, 1):
        yield item
        progress(what, number, len(items))
