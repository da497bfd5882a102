"""The command, in this process or in one of its own, and LoCoMo files."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

import forked
import same_process

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
def bench(tmp_path, monkeypatch):
    """bench(argument, ...): run it to its end, in this process."""

    def run(*rest, **variables):
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        monkeypatch.setattr(tempfile, "tempdir", None)  # as the environment says
        monkeypatch.setattr(sys, "executable", forked.executable())  # of what it starts
        chosen = {"COLUMNS": "100", "TMPDIR": str(scratch), **variables}
        return same_process.memoryos("bench", *map(str, rest), cwd=tmp_path, **chosen)

    return run
