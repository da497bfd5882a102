"""The machine that measures, and the memory of this process."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_TICKS = 13, 15  # of /proc/PID/stat behind the name: time in the program and in the kernel
_PROCESSORS = Path("/proc/cpuinfo")


def describe() -> dict[str, str | int]:
    """The properties of the machine that matter for comparing figures."""
    return {
        "cpu": next(_values(_PROCESSORS, "model name"), "") or platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
    }


def rss_mb(pid: int | None = None) -> float | None:
    """Resident memory of this process or of another one, MB of 10^6 bytes.

    Now on Linux (/proc). On other systems with getrusage it is the highest so far, of this process; else None.
    """
    for value in _values(Path(f"/proc/{pid or 'self'}/status"), "VmRSS"):
        return int(value.removesuffix("kB")) * 1024 / 1e6
    if pid is not None or sys.platform == "win32":
        return None
    from resource import RUSAGE_SELF, getrusage

    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return getrusage(RUSAGE_SELF).ru_maxrss * unit / 1e6


def cpu_seconds(pid: int) -> float | None:
    """The processor time of a process; None where there is no /proc."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return None
    numbers = stat.read_text("utf-8").rpartition(")")[2].split()
    start, end = (index - 2 for index in _TICKS)
    return sum(map(int, numbers[start:end])) / os.sysconf("SC_CLK_TCK")


def _values(path: Path, name: str) -> Iterator[str]:
    """The values of a name in a file of `name : value` lines; none without the file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == name:
            yield value.strip()
