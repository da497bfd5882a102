"""The machine that measures, and the memory of this process."""

from __future__ import annotations

import os
import platform
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

_STATUS = Path("/proc/self/status")
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


def rss_mb() -> float | None:
    """Resident memory of this process, MB of 10^6 bytes.

    Now on Linux (/proc); the highest so far on other systems with getrusage; None where there is neither.
    """
    for value in _values(_STATUS, "VmRSS"):
        return int(value.removesuffix("kB")) * 1024 / 1e6
    if sys.platform == "win32":
        return None
    from resource import RUSAGE_SELF, getrusage

    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return getrusage(RUSAGE_SELF).ru_maxrss * unit / 1e6


def _values(path: Path, name: str) -> Iterator[str]:
    """The values of a name in a file of `name : value` lines; none without the file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() == name:
            yield value.strip()
