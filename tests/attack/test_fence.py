"""The fence around what is stored: the tests of `tests/generation/test_forgery.py`, with `--long` in many rounds.

Each round draws other texts.
"""

from __future__ import annotations

import pytest

from generation import test_forgery
from generation.conftest import memory, model, settings  # noqa: F401 - fixtures

pytestmark = test_forgery.pytestmark

LONG_ROUNDS = 20

globals().update({name: test for name, test in vars(test_forgery).items() if name.startswith("test_")})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.fixturenames.append("round")
    metafunc.parametrize("round", range(LONG_ROUNDS if metafunc.config.getoption("--long") else 1))
