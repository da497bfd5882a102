"""Closing: what the end of a `with` block does."""

from __future__ import annotations

from collections.abc import Callable

from memoryos.engine import Engine


def left(engine: Engine, error: type[BaseException] | None, close: Callable[[], None]) -> None:
    """Close at the end of a `with` block."""
    if engine.hand.is_forked:  # a child of a fork has nothing of it to close
        return
    if error is not None:  # an interrupted import must not take minutes to end; nothing is lost
        engine.housekeeping.abandon()
    close()
