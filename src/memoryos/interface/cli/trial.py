"""Trial: what a command does is done in memory first where there is no store yet, so wrong input makes none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

from memoryos.interface.cli.stated_context import stated_settings

T = TypeVar("T")
S = TypeVar("S")

_ALONE: dict[str, Any] = {"object_store": None, "candidates": None, "extractor": "rules"}  # it reaches no other program


def tried(db: str | Path | None, opening: Callable[..., AbstractContextManager[S]], do: Callable[[S], T]) -> T:
    """Return what `do` returns in the store that `opening` opens; it may be called twice, and must read no stream.

    `opening` takes a place, and `changed` settings. Raises what `do` raises, and then leaves no new store behind.
    """
    try_first(db, opening, do)
    with opening(db) as store:
        return do(store)


def try_first(
    db: str | Path | None, opening: Callable[..., AbstractContextManager[S]], do: Callable[[S], object]
) -> None:
    """Do it in a store in memory, if there is none yet in the place that is named."""
    if _is_new(db):
        from memoryos.arguments import IN_MEMORY

        with opening(IN_MEMORY, changed=_ALONE) as trial:
            do(trial)


def _is_new(db: str | Path | None) -> bool:
    """Whether a store would be made there; of a database or of what is no file, opening it tells."""
    place = Path(db or stated_settings().db)
    return "://" not in str(db or "") and place.parent.is_dir() and not place.exists()
