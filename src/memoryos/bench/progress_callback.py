"""How a measurement tells how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Progress = Callable[[str, int, int], None]  # called with (what is being done, done, total)

T = TypeVar("T")


def unwatched(_what: str, _done: int, _total: int) -> None:
    """Nobody looks."""


def each(items: Sequence[T], what: str, progress: Progress) -> Iterator[T]:
    """The items, and after each of them how many are done."""
    for number, item in enumerate(items, 1):
        yield item
        progress(what, number, len(items))
