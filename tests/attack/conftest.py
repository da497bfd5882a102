from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.back_ends import files_on

FUZZ_SECONDS, LONG_FUZZ_SECONDS = 12.0, 600.0


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out what only repeats other tests, unless the attacks may take minutes."""
    return True if collection_path.name == "test_fence.py" and not config.getoption("--long") else None


@pytest.fixture
def tmp_path(tmp_path: Path, back_end: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The present folder, whose files are stores on each back end in turn."""
    monkeypatch.chdir(tmp_path)
    with files_on(back_end, tmp_path):
        yield tmp_path


@pytest.fixture(scope="session")
def fuzz_seconds(request: pytest.FixtureRequest, long: bool) -> float:
    """For how long methods are called with wrong arguments, beside a few calls of each: CPU time of all workers."""
    return request.config.getoption("--fuzz") or (LONG_FUZZ_SECONDS if long else FUZZ_SECONDS)
