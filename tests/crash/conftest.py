"""The stores that processes are killed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.killed import PAGES
from crash.stores import add_page, open_store


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """Some pages, beyond what STM holds; copy it."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    with open_store(path) as memory:
        for number in range(PAGES):
            add_page(memory, number)
            memory.wait()
    return path
