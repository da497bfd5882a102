"""Legible: reads rows whose values may be damaged, and tells so without quoting them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from memoryos.errors import StoreCorrupt


@contextmanager
def legible(table: str) -> Iterator[None]:
    """Raise StoreCorrupt for a row with values that no program writes; the error does not contain them."""
    try:
        yield
    except (LookupError, ValueError, TypeError, OverflowError, RecursionError):
        raise StoreCorrupt(f"a row of {table} is damaged: run `memoryos verify`, or restore from a backup") from None
