"""The command in a process of its own, and LoCoMo files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import forked

from .talk import talk


@pytest.fixture
def locomo(tmp_path):
    """locomo(sample, ...): the path of a file of these samples."""

    def write(*samples) -> Path:
        path = tmp_path / "locomo.json"
        path.write_text(json.dumps(samples or [talk()]), "utf-8")
        return path

    return write


@pytest.fixture
def command(tmp_path):
    """command(argument, ...): `memoryos bench argument ...` and its environment, for subprocess."""

    def arguments(*rest, **variables):
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        return {
            "args": [forked.executable(), "-W", "error", "-m", "memoryos", "bench", *map(str, rest)],
            "cwd": tmp_path,
            "env": forked.settings(**{"COLUMNS": "100", "TMPDIR": str(scratch), **variables}),
            "text": True,
        }

    return arguments


@pytest.fixture
def bench(command):
    """bench(argument, ...): run it to its end."""

    def run(*rest, **variables):
        return subprocess.run(**command(*rest, **variables), capture_output=True, timeout=300)

    return run
