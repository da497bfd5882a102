"""Completion: names from the store that a shell completes. It is silent whatever goes wrong.

Only a file is asked, and neither the library nor an embedder is loaded. With API keys, policies, or PostgreSQL, nothing
is completed: names are what the store protects.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from memoryos.errors import MemoryOSError


def names(*kinds: str) -> Callable[[typer.Context, str], list[str]]:
    """What completes names of these kinds: user, agent, adapter, activation, snapshot or branch."""

    def completed(ctx: typer.Context, incomplete: str) -> list[str]:
        return _found(ctx.params, kinds, incomplete)

    return completed


def _found(given: dict[str, Any], kinds: tuple[str, ...], start: str) -> list[str]:
    from memoryos.clock import system_clock
    from memoryos.config import load_settings
    from memoryos.infrastructure.vault.stored_names import StoredNames
    from memoryos.scope import Scope

    logging.getLogger("memoryos").addHandler(logging.NullHandler())  # a warning would stand in the line of the person
    try:
        settings = load_settings()
        place = Path(given.get("db") or settings.db).expanduser()
        user, agent, tenant = (given.get(name) or "default" for name in ("user", "agent", "tenant"))
        owner = Scope(user=user, agent=agent, tenant=tenant)
    except (MemoryOSError, RuntimeError):  # the second: a home folder that is unknown
        return []
    if settings.key or settings.policies or "://" in str(given.get("db") or settings.db):
        return []
    stored, now = StoredNames(place, owner), system_clock()
    return sorted({name for kind in kinds for name in stored.beginning(kind, start, now)})
