from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memoryos
from contract.conftest import store  # noqa: F401 - inserts into the encrypted vault below
from memoryos import Memory, Settings
from memoryos.config import load_settings
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.vault.sqlite import SqliteVault
from memoryos.models.hashing import Hashing

KEY = "the key of these tests, 43 characters of it"
OTHER = "another key that does not open those stores"


@pytest.fixture
def vault(tmp_path: Path, clock) -> Iterator[SqliteVault]:
    key = DataKey.random()
    path = tmp_path / "memory.db"
    opened = SqliteVault(path, embedder=Hashing.name, clock=clock, busy_timeout_seconds=30, key=key)
    yield opened
    opened.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def settings() -> Settings:
    return load_settings(embedder="hashing", short_term_capacity=1, heat_threshold=0, encryption_key=KEY)


@pytest.fixture
def in_clear(settings: Settings) -> Settings:
    return settings.model_copy(update={"encryption_key": None})


@pytest.fixture
def open_memory(path: Path, settings: Settings, clock) -> Iterator[Callable[..., Memory]]:
    """open_memory(...): Ann's memory in the store of this test; the arguments are those of `memoryos.open`."""
    opened = []

    def call(**how: object) -> Memory:
        wanted = {"user": "ann", "settings": settings, "clock": clock, **how}
        opened.append(memoryos.open(path, **wanted))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()
