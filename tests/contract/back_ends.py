"""The back ends that the contract is held against. A new one is done when it is here and all tests pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from contract import server
from memoryos.clock import Clock
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.place import Place, open_vault
from memoryos.infrastructure.vault.postgres import PostgresVault
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.infrastructure.vault.store import SqlVault
from memoryos.models.hashing import Hashing

OpenVault = Callable[..., Vault]  # called with (folder, clock), the busy timeout in seconds, the embedder's name


def _sqlite(
    folder: Path, clock: Clock, *, busy_timeout_seconds: float = 30.0, embedder: str = Hashing.name
) -> SqliteVault:
    return SqliteVault(folder / "memory.db", embedder=embedder, clock=clock, busy_timeout_seconds=busy_timeout_seconds)


def _postgres(
    folder: Path, clock: Clock, *, busy_timeout_seconds: float = 30.0, embedder: str = Hashing.name
) -> PostgresVault:
    url = server.store_of(folder)
    return PostgresVault("postgres", url, embedder=embedder, clock=clock, busy_timeout_seconds=busy_timeout_seconds)


BACK_ENDS: dict[str, OpenVault] = {"sqlite": _sqlite, "postgres": _postgres}


def open_in_place_of_file(place: Place, *, embedder: str | None, **options: Any) -> SqlVault:
    """Open the database that stands in the place of a file: what `pytest --store postgres` has for `open_vault`."""
    if isinstance(place, Path):
        place = server.store_for(place, embedder)
    return open_vault(place, embedder=embedder, **options)
