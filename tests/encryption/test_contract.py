"""A part of the contract of stores, held against an encrypted file."""

from __future__ import annotations

import pytest

from contract.test_cubes import *  # noqa: F403
from contract.test_events import *  # noqa: F403
from contract.test_removal import *  # noqa: F403
from contract.test_vectors import *  # noqa: F403

pytestmark = pytest.mark.file


def test_they_ran_on_an_encrypted_file(vault, store):
    store("zanzibarquux")
    assert vault.key is not None
    assert b"SQLite format 3" not in vault.path.read_bytes()


del test_thousands_of_ids_fit_into_one_call  # noqa: F821 - two seconds, and the cipher does not matter
