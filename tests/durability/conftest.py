from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoryos
from memoryos import load_settings
from memoryos.models.hashing import Hashing


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can reach, which `tmp_path` is not."""
    outer = Path(tempfile.mkdtemp())
    outer.chmod(0o755)
    inner = outer / "store"
    inner.mkdir(0o755)
    yield inner
    shutil.rmtree(outer)


@pytest.fixture
def open_memory(clock):
    opened = []

    def call(folder, **settings):
        knobs = load_settings(short_term_capacity=1, **settings)
        opened.append(memoryos.open(folder / "memory.db", user="tom", settings=knobs, embedder=Hashing(), clock=clock))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()
