"""The command, and LoCoMo files."""

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
def scratch(tmp_path) -> Path:
    """The folder for temporary files of the command."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


@pytest.fixture
def command(tmp_path, scratch):
    """command(argument, ...): `memoryos bench argument ...` as a process of its own, for subprocess."""

    def arguments(*rest, **variables):
        return {
            "args": [forked.executable(), "-W", "error", "-m", "memoryos", "bench", *map(str, rest)],
            "cwd": tmp_path,
            "env": forked.settings(**{"COLUMNS": "100", "TMPDIR": str(scratch), **variables}),
            "text": True,
        }

    return arguments


@pytest.fixture
def bench(tmp_path, scratch, monkeypatch):
    """bench(argument, ...): run it to its end, in the process of the test; what it starts is forked."""

    def run(*rest, **variables):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", forked.executable())
            patch.setattr(tempfile, "tempdir", str(scratch))
            return same_process.memoryos("bench", *map(str, rest), cwd=tmp_path, **{"COLUMNS": "100"} | variables)

    return run
