"""Python programs as processes of their own, forked from one that has imported memoryos already.

To start an interpreter and to import takes a hundred times as long as most commands take. What a program can see is
the same: its arguments, folder and environment, warnings that are errors, and nothing that another one has opened.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

_IMPORTED = ("memoryos.interface.cli.app", "alembic.command", "tokenizers")  # before the forks

_started: list[subprocess.Popen[str]] = []


def python(
    *arguments: str, cwd: Path, env: Mapping[str, str] = os.environ, timeout: int = 120
) -> subprocess.CompletedProcess[str]:
    """Run `python -W error -m module ...` or `-c code` to its end; it is killed after `timeout` seconds."""
    with TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        wanted = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "timeout": timeout}
        code = _asked(wanted | {"out": str(out), "err": str(err)})
        return subprocess.CompletedProcess(arguments, code, out.read_text("utf-8"), err.read_text("utf-8"))


def memoryos(*arguments: str, cwd: Path, timeout: int = 120, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command of `memoryos` like `python`; of the settings it sees only those in `variables`."""
    return python("-m", "memoryos", *arguments, cwd=cwd, env=settings(**variables), timeout=timeout)


def settings(**variables: str) -> dict[str, str]:
    """The environment with these settings in the place of any that it has."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYOS_")}
    return {**others, "COLUMNS": "120", **variables}


def _asked(wanted: dict[str, Any]) -> int:
    if not _started:
        command = [sys.executable, "-W", "error", __file__]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        _started.append(subprocess.Popen(command, env=settings(), text=True, **pipes))
        atexit.register(_started[0].communicate)  # its input ends, and so does it
    (server,) = _started
    server.stdin.write(json.dumps(wanted) + "\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def _serve() -> None:
    for module in _IMPORTED:
        importlib.import_module(module)
    importlib.import_module("statements").share()
    _warm_up()
    gc.freeze()  # or each program would copy all of this to look through it
    answers = os.dup(1)
    for line in sys.stdin:
        program = _forked()
        if program == 0:
            os.close(answers)
            _become(**json.loads(line))
        _, status = os.waitpid(program, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _warm_up() -> None:
    """What a program reads, compiles or builds when it uses a memory for the first time."""
    memory, main = importlib.import_module("memoryos"), importlib.import_module("typer.main")
    main.get_command(importlib.import_module("memoryos.interface.cli.app").app)
    with TemporaryDirectory() as folder, memory.MemoryOS.open(Path(folder, "memory.db"), user="nobody") as store:
        store.add("I live in Porto.", "我住在成都。")
        store.wait()
        store.search("Porto")


def _forked() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: NumPy's look after themselves
        return os.fork()


def _become(arguments: list[str], cwd: str, env: dict[str, str], timeout: int, out: str, err: str) -> None:
    for path, mode, descriptor in ((os.devnull, os.O_RDONLY, 0), (out, os.O_WRONLY, 1), (err, os.O_WRONLY, 2)):
        os.dup2(os.open(path, mode | os.O_CREAT), descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    signal.alarm(timeout)
    sys.path[:1] = ["", *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    kind, program, *rest = arguments
    sys.argv = [kind, *rest]
    if kind == "-m":
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), vars(sys.modules["__main__"]))
    sys.exit()


if __name__ == "__main__":
    _serve()
