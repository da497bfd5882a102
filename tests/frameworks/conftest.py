"""What the tests of frameworks share."""

from __future__ import annotations

import pytest

from contract.back_ends import files_on


@pytest.fixture
def each_store(back_end, tmp_path):
    """Let the files of a test be stores on each back end."""
    with files_on(back_end, tmp_path):
        yield
