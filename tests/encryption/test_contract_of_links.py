"""The contract of links, held against an encrypted file."""

from __future__ import annotations

import pytest

from contract.test_links import *  # noqa: F403

pytestmark = pytest.mark.file

del test_thousands_of_links_fit_into_one_call  # noqa: F821 - a second, and the cipher does not matter
