"""Asker: whose question a model answers. A model in this process keeps the conversations of users apart by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from memoryos.scope import Scope

Asker = tuple[str, str]  # tenant and user

_asker: ContextVar[Asker | None] = ContextVar("memoryos_asker", default=None)


@contextmanager
def asking(scope: Scope) -> Iterator[None]:
    """Ask in the block for the user of that scope."""
    token = _asker.set((scope.tenant, scope.user))
    try:
        yield
    finally:
        _asker.reset(token)


def asker() -> Asker | None:
    """Who asks; None: a program that has no scope."""
    return _asker.get()
