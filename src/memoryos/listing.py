"""Listing: one part of an ordered list, and the cursor of the next part."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from memoryos.errors import InvalidInput
from memoryos.plain import Plain, plain

T = TypeVar("T")

CURSOR_CHARS = 4_000


class Listing(list[T], Plain):
    """One part of a list. Pass `cursor` to the next call to get the next part; None means that this is the last.

    It is a list, so what converts it as one loses the cursor, such as a FastAPI handler without a return annotation:
    return `to_dict()` there.
    """

    cursor: str | None  #: where the next part begins; None: this is the last

    def __init__(self, items: Iterable[T] = (), cursor: str | None = None) -> None:
        if not isinstance(items, Iterable):
            raise InvalidInput("items", f"expected a list, got {type(items).__name__}", "Pass a list")
        super().__init__(items)
        self.cursor = cursor

    def mapped(self, change: Callable[[T], T]) -> Listing[T]:
        """Return the part with each item as `change` returns it."""
        return Listing(map(change, self), self.cursor)

    def to_dict(self) -> dict[str, Any]:
        """The items and the cursor."""
        return {"items": [plain(item) for item in self], "cursor": self.cursor}


def cursor_after(what: str, *key: str | int) -> str:
    """Make the cursor of a listing that ends with the item of this key."""
    return base64.urlsafe_b64encode(json.dumps([what, *key], separators=(",", ":")).encode()).decode()


def key_in(what: str, cursor: str | None, shape: Sequence[type]) -> tuple[Any, ...] | None:
    """Read the key of the last listed item from a cursor; None starts at the beginning. Raises InvalidInput."""
    if cursor is None:
        return None
    found = _decoded(cursor)
    is_ours = isinstance(found, list) and found[:1] == [what] and [type(one) for one in found[1:]] == list(shape)
    if not is_ours or not all(map(_is_storable, found[1:])):
        raise InvalidInput(
            "cursor",
            "does not come from this listing",
            "Pass the cursor of the previous part",
        )
    return tuple(found[1:])


def _is_storable(value: str | int) -> bool:
    return 0 <= value < 2**63 if isinstance(value, int) else value.isprintable()


def _decoded(cursor: str) -> Any:
    if not isinstance(cursor, str) or len(cursor) > CURSOR_CHARS:
        return None
    try:
        return json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (ValueError, RecursionError):
        return None
