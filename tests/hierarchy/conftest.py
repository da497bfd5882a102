from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.back_ends import files_on

from .world import World


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str) -> Iterator[Path]:
    """A folder whose files are stores on each back end in turn, for the memories that open them."""
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.close()
