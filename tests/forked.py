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
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from types import ModuleType
from typing import Any

_IMPORTED = (  # before the forks
    "memoryos.interface.cli.app",
    "memoryos.interface.mcp.stdio_door",
    "memoryos.operation.consolidation.chinese_stance",
    "memoryos.operation.consolidation.english_stance",
    "memoryos.operation.consolidation.rules",
    "memoryos.operation.knowledge.chinese_slots",
    "memoryos.operation.knowledge.english_slots",
    "memoryos.models.hashing",
    "memoryos.models.word_pieces",
    "memoryos.infrastructure.candidates.postgres",
    "memoryos.infrastructure.vault.postgres.postgres_vault",
    "pgvector.psycopg",
    "sqlalchemy.dialects.postgresql.psycopg",
    "openai.resources.chat.completions",  # which the SDK puts off
)

_LAUNCHER = """#!{python} -IS
import json, os, signal, socket, sys
passed_on = signal.SIGTERM, signal.SIGINT
signal.pthread_sigmask(signal.SIG_BLOCK, passed_on)  # until there is somebody to pass them on to
talk = socket.socket(socket.AF_UNIX)
talk.connect({address!r})
rest = sys.argv[min(sys.argv.index(kind) for kind in ("-m", "-c") if kind in sys.argv):]
wanted = dict(arguments=rest, cwd=os.getcwd(), env=dict(os.environ), timeout=600)
socket.send_fds(talk, [b"."], [0, 1, 2])
lines = talk.makefile("rw")
print(json.dumps(wanted), file=lines, flush=True)
program = int(lines.readline())
for received in passed_on:
    signal.signal(received, lambda number, _: os.kill(program, number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, passed_on)
code = int(lines.readline())
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
sys.exit(code)
"""

_started: list[tuple[subprocess.Popen[str], Path]] = []


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


def fork() -> int:
    """Like `os.fork`, in a process that has other threads as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: NumPy's look after themselves
        return os.fork()


def executable() -> str:
    """In the place of `sys.executable`, for processes that are started to be talked to: those too are forked.

    So are the ones that they start. A program ends when its process is killed, but not at once.
    """
    return str(_server()[1] / "python")


def settings(**variables: str) -> dict[str, str]:
    """The environment with these settings in the place of any that it has."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYOS_")}
    return {**others, "COLUMNS": "120", **variables}


def _asked(wanted: dict[str, Any]) -> int:
    server, _ = _server()
    server.stdin.write(json.dumps(wanted) + "\n")
    server.stdin.flush()
    return int(server.stdout.readline())


def _server() -> tuple[subprocess.Popen[str], Path]:
    """The process that forks, and the folder with the launcher of its programs."""
    if not _started:
        folder = Path(mkdtemp())
        atexit.register(rmtree, folder)
        launcher, address = folder / "python", folder / "socket"
        launcher.write_text(_LAUNCHER.format(python=sys.executable, address=str(address)), "utf-8")
        launcher.chmod(0o700)
        command = [sys.executable, "-W", "error", __file__, str(address)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        server = subprocess.Popen(command, env=settings(), text=True, **pipes)
        atexit.register(server.communicate)  # its input ends, and so does it
        server.stdout.readline()
        _started.append((server, folder))
    return _started[0]


def _serve(address: str) -> None:
    for module in _IMPORTED:
        importlib.import_module(module)
    _warm_up()
    gc.freeze()  # or each program would copy all of this to look through it
    answers, launched = os.dup(1), socket.socket(socket.AF_UNIX)
    launched.bind(address)
    launched.listen()
    os.write(answers, b"ready\n")
    while True:
        ready, _, _ = select.select([sys.stdin, launched], [], [])
        if launched in ready:
            _launch(launched, answers)
        elif line := sys.stdin.readline():
            os.write(answers, f"{_run(line, answers, launched)}\n".encode())
        else:
            return launched.close()


def _run(line: str, answers: int, launched: socket.socket) -> int:
    """Run a program to its end; returns how that was."""
    program = fork()
    if program == 0:
        os.close(answers)
        launched.close()
        wanted = json.loads(line)
        out, err = (os.open(wanted.pop(name), os.O_WRONLY | os.O_CREAT) for name in ("out", "err"))
        _become(os.open(os.devnull, os.O_RDONLY), out, err, **wanted)
    return os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])


def _launch(launched: socket.socket, answers: int) -> None:
    """Start a program that a launcher asks for, and somebody that keeps an eye on both."""
    talk, _ = launched.accept()
    if fork():
        talk.close()
        return
    folder = Path(launched.getsockname()).parent
    launched.close()
    _, (given, *others), *_ = socket.recv_fds(talk, 1, 3)
    with talk.makefile() as lines:
        wanted = json.loads(lines.readline())
    lives, ends = os.pipe()
    program = fork()
    if program == 0:
        talk.close()
        os.close(answers)
        os.close(lives)
        sys.executable = str(folder / "python")
        _become(given, *others, **wanted)
    for descriptor in (ends, given, *others):
        os.close(descriptor)
    _keep(program, talk, lives)
    os._exit(0)


def _keep(program: int, talk: socket.socket, lives: int) -> None:
    """Tell the launcher how the program ends, and end it when the launcher has been killed."""
    talk.sendall(f"{program}\n".encode())
    ended, _, _ = select.select([talk, lives], [], [])
    if lives not in ended:
        os.kill(program, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with suppress(BrokenPipeError):
        talk.sendall(f"{code}\n".encode())


def _warm_up() -> None:
    """What a program reads, compiles or builds when it uses a memory for the first time."""
    memoryos, app = map(importlib.import_module, ("memoryos", "memoryos.interface.cli.app"))
    _load(app.command())
    with TemporaryDirectory() as folder:
        place = str(Path(folder, "memory.db"))
        with memoryos.open(place, user="nobody") as store:
            store.add("I live in Porto.", "我住在成都。")
            store.wait()
            store.search("Porto")
        os.environ["MEMORYOS_EMBEDDER"] = "static"  # to read a setting takes longer the first time
        for command in (["search", "Porto"], ["pages", "list"], ["stats", "--json"]):
            sys.argv = ["memoryos", *command, "--db", place, "--user", "nobody"]
            with redirect_stdout(StringIO()), suppress(SystemExit):
                app.main()
        del os.environ["MEMORYOS_EMBEDDER"]


def _load(group: Any) -> None:
    """Make every command, which a program of its own makes when it is asked for."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            _load(command)


def _become(given: int, out: int, err: int, arguments: list[str], cwd: str, env: dict[str, str], timeout: int) -> None:
    for opened, descriptor in ((given, 0), (out, 1), (err, 2)):
        os.dup2(opened, descriptor)
        os.close(opened)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    tempfile.tempdir = None  # as the environment says
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have had us ignore
    signal.alarm(timeout)
    sys.path[:1] = ["", *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    try:
        _execute(*arguments)
    except SystemExit as ended:
        if isinstance(ended.code, str):  # which the interpreter would print
            raise
        _end(ended.code or 0)
    _end(0)


def _execute(kind: str, program: str, *rest: str) -> None:
    sys.argv = [kind, *rest]
    if kind == "-m":
        sys.modules.pop(program, None)  # or it would warn: the program is a module of its own
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), vars(sys.modules["__main__"]))


def _end(code: int) -> None:
    """End as a program does, but without taking all modules apart: that takes longer than most programs run."""
    threading._shutdown()
    atexit._run_exitfuncs()
    gc.collect()  # what nobody closed is told of
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
