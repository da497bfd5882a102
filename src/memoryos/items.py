"""Items: reads a list that a caller passes, up to a limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from memoryos.errors import InvalidInput

MOST_ITEMS = 1_000_000  # of a list, such as the turns of one call

_Item = TypeVar("_Item")


def items(field: str, value: Iterable[_Item], most: int = MOST_ITEMS) -> Iterator[_Item]:
    """The items of a list, one after the other: each is checked before the next, for an iterator may have no end.

    Raises InvalidInput for what cannot be read so, such as an array of no dimension, and behind so many items.
    """
    try:
        found = iter(value)
    except TypeError:
        raise InvalidInput(field, f"expected a list, got {type(value).__name__}", "Pass a list") from None
    for index, item in enumerate(found):
        if index >= most:
            raise InvalidInput(field, f"has more than {most:,} values", f"Pass at most {most:,}")
        yield item
