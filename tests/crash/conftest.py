"""The stores that processes are killed over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract import server
from crash.killed import PAGES
from crash.stores import add_page, open_store


@pytest.fixture
def place(back_end: str, tmp_path: Path) -> Iterator[str]:
    """Where a store is, or will be, on each back end in turn."""
    if back_end == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    yield server.store_of(tmp_path).render_as_string()
    server.give_back(tmp_path)


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """Some pages, beyond what STM holds; copy it."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    with open_store(path) as memory:
        for number in range(PAGES):
            add_page(memory, number)
            memory.wait()
    return path
