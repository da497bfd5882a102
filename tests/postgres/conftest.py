from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.engine import URL

from contract import server
from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
from memoryos.models.hashing import Hashing


@pytest.fixture
def url(tmp_path) -> Iterator[URL]:
    """The database of an empty store."""
    yield server.store_of(tmp_path)
    server.give_back(tmp_path)


@pytest.fixture
def open_vault(url, clock):
    """open_vault(): a vault on it, or on another database; closed after the test."""
    opened = []

    def call(where=url, *, embedder=Hashing.name, patience=30.0):
        opened.append(PostgresVault("the store", where, embedder=embedder, clock=clock, busy_timeout_seconds=patience))
        return opened[-1]

    yield call
    for vault in opened:
        vault.close()


@pytest.fixture
def vault(open_vault) -> PostgresVault:
    return open_vault()


@pytest.fixture
def store(vault, entry):
    """store(text, ...): insert one page; returns its cube."""

    def insert(text="hello", **fields):
        made = entry(text, **fields)
        with vault.write(made.cube.scope) as writer:
            writer.insert([made])
        return made.cube

    return insert
