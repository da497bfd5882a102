from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memoryos
from contract.back_ends import files_on
from memoryos import Memory
from memoryos.config import load_settings
from memoryos.models.hashing import Hashing


@pytest.fixture
def path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """The file of a store, on each back end in turn, for the memories that open it."""
    with files_on(back_end, tmp_path):
        yield tmp_path / "memory.db"


@pytest.fixture
def open_memory(path: Path, clock) -> Iterator[Callable[..., Memory]]:
    """open_memory(user, ...): a memory on the store of this test, with these settings."""
    opened = []

    def call(user: str = "ann", **settings: object) -> Memory:
        knobs = load_settings(short_term_capacity=2, **settings)
        opened.append(memoryos.open(path, user=user, embedder=Hashing(), settings=knobs, clock=clock))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()
