"""Commands of `memoryos` in this process, for tests that are not about processes: a fork costs more than most do."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from contextvars import Context
from io import BytesIO, TextIOWrapper
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

import pytest

import forked
from memoryos.interface.cli import app


def memoryos(*arguments: str, cwd: Path, **variables: str) -> CompletedProcess[str]:
    """Run a command like `forked.memoryos`; nobody acts here but who the command says."""
    out, err = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    given = mock.patch.dict(os.environ, forked.settings(**variables), clear=True)
    with given, pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["memoryos", *arguments])
        patch.chdir(cwd)
        code = Context().run(_code)
    return CompletedProcess(arguments, code, *(one.buffer.getvalue().decode() for one in (out, err)))


def _code() -> int:
    try:
        app.main()
    except SystemExit as ended:
        assert ended.code is None or isinstance(ended.code, int), "which the interpreter would print"
        return ended.code or 0
    return 0
