from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract import server


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store is, or will be."""
    if request.param == "sqlite":
        yield str(tmp_path / "memory.db")
        return
    yield server.store_of(tmp_path).render_as_string()
    server.give_back(tmp_path)
