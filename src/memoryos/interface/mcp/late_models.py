"""Late models: pydantic models that are built at their first use, and not when their module is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel


@contextmanager
def late_models() -> Iterator[None]:
    """All models that the process defines meanwhile are built at their first use.

    A process enters it while it has one thread, and for modules whose models one thread uses: pydantic builds a model
    without a lock.
    """
    BaseModel.model_config["defer_build"] = True  # which subclasses inherit when they are defined
    try:
        yield
    finally:
        del BaseModel.model_config["defer_build"]
