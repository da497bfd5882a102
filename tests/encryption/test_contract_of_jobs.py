"""The contract of jobs, held against an encrypted file."""

from __future__ import annotations

import pytest

from contract.test_jobs import *  # noqa: F403

pytestmark = pytest.mark.file
