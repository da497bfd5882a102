"""Lasting objects: what a server imports stays until its end, so the garbage collector need not look for it there."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lasting_objects() -> Iterator[None]:
    """Collect no garbage meanwhile, and look at nothing that stands at the end in later collections."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
