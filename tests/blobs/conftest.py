from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memoryos
from contract.back_ends import files_on
from memoryos import Memory, Settings
from memoryos.config import load_settings
from memoryos.models.hashing import Hashing


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn, for the memories that open them."""
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def folder(path: Path, back_end: str) -> Path:
    """Where the bytes lie: a file has a folder beside it, a server needs an object store."""
    if back_end == "sqlite":
        return path.with_name("memory.db.objects")
    made = path.with_name("objects")
    made.mkdir()
    return made


@pytest.fixture
def settings(folder: Path, back_end: str) -> Settings:
    place = None if back_end == "sqlite" else folder.as_uri()
    return load_settings(embedder="hashing", short_term_capacity=2, object_store=place, max_attachment_bytes=1000)


@pytest.fixture
def open_memory(path: Path, settings: Settings, clock) -> Iterator[Callable[..., Memory]]:
    """open_memory(user, ...): a memory on the store of this test, with the settings changed so."""
    opened = []

    def call(user: str = "ann", **changed: object) -> Memory:
        knobs = settings.model_copy(update=changed)
        opened.append(memoryos.open(path, user=user, embedder=Hashing(), settings=knobs, clock=clock))
        return opened[-1]

    yield call
    for memory in opened:
        memory.close()
