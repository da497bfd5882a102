"""The stores that processes are killed over."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from crash.killed import PAGES, Victim, victims_of
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


@pytest.fixture(scope="session")
def victims(long: bool) -> Callable[..., list[Victim]]:
    """victims(scenario, template, folder): the stores of those who died in it, of more in a long run."""
    return partial(victims_of, long=long)
