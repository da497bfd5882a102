"""The fence around what is stored: the tests of `tests/generation/test_forgery.py` in many rounds, with `--long` alone.

Each round draws other texts. Without `--long` one round is enough, and that file is it.
"""

from __future__ import annotations

import pytest

from generation import test_forgery
from generation.conftest import memory, model, settings  # noqa: F401 - fixtures

pytestmark = test_forgery.pytestmark

ROUNDS = 20

globals().update({name: test for name, test in vars(test_forgery).items() if name.startswith("test_")})


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.fixturenames.append("round")
    metafunc.parametrize("round", range(ROUNDS))
