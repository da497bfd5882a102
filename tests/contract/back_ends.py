"""The back ends that the contract is held against. A new one is done when it is here and all tests pass."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import memoryos.opening
from contract import server
from memoryos.clock import Clock, system_clock
from memoryos.infrastructure.vault.contract import Vault
from memoryos.infrastructure.vault.place import Place, open_vault
from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.sqlite import SqliteVault
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


@contextmanager
def files_on(back_end: str, folder: Path) -> Iterator[None]:
    """Let each file that a memory opens be a store on that back end; those in the folder are gone afterwards."""
    with opening_on(back_end):
        yield
    server.give_back_files(folder)


@contextmanager
def opening_on(back_end: str) -> Iterator[None]:
    """Let each file that a memory opens be a store on that back end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memoryos.opening, "open_vault", _OPEN[back_end])
        yield


def copy_store(source: Path, target: Path) -> None:
    """Copy the store in a file, or in the place of one, which nobody uses now."""
    if server.stands_for(source):
        server.copy_store(source, target)
    else:
        shutil.copyfile(source, target)


def _open_in_place_of_file(place: Place, *, embedder: str | None, **options: Any) -> SqlVault:
    if isinstance(place, Path) and (server.stands_for(place) or not options.get("is_only_read")):
        place = server.store_for(place, embedder)
    return open_vault(place, embedder=embedder, **options)


def _open_file(place: Place, *, embedder: str | None, **options: Any) -> SqlVault:
    if isinstance(place, Path) and embedder and not options.get("is_only_read"):
        _begin(place, embedder)
    return open_vault(place, embedder=embedder, **options)


_OPEN = {"sqlite": _open_file, "postgres": _open_in_place_of_file}


def _begin(path: Path, embedder: str) -> None:
    """Let a file that does not exist be an empty store; its eleven tables take longer to make than most tests run."""
    if path.parent.is_dir() and not path.exists():
        path.touch(0o600)
        path.write_bytes(_empty_store(embedder))


@cache
def _empty_store(embedder: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "memory.db")
        SqliteVault(path, embedder=embedder, clock=system_clock, busy_timeout_seconds=30).close()
        return path.read_bytes()
