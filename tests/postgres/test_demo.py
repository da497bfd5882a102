"""`make demo-postgres`: the demo on a server that is started for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "demo_postgres.py"


@pytest.mark.long  # the demo itself is tested in tests/acceptance
def test_the_demo_plays_on_a_server_of_its_own():
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("PostgreSQL ")
    assert "Topics that formed" in done.stdout
