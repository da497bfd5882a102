"""Started processes of a bench: programs of ours that run beside it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from memoryos.errors import MemoryOSError


@contextmanager
def started(module: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process of a module that is ended with the block."""
    pipe, command = subprocess.PIPE, [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603 - ours
        try:
            yield process
        finally:
            process.terminate()


def next_line(process: subprocess.Popen[str]) -> str:
    """What the process says next. Raises MemoryOSError if it has ended."""
    line = process.stdout.readline() if process.stdout else ""
    if not line.strip():
        raise MemoryOSError("a process of the bench did not start: try `memoryos serve`")
    return line


def say(process: subprocess.Popen[str], line: str) -> None:
    """Send the process a line."""
    if process.stdin:
        process.stdin.write(line + "\n")
        process.stdin.flush()
