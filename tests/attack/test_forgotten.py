"""A memory that nobody closed and nobody has any more releases its files and threads."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path

import pytest

import memoryos
from memoryos import load_settings

PATIENCE = 20.0  # seconds; threads end in their own time


def held() -> tuple[int, int]:
    """Threads and open files of this process."""
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


def forget(path) -> None:
    memory = memoryos.open(path, user="ann", settings=load_settings(embedder="hashing"))
    memory.add("I bought a kite.")
    assert memory.search("kite").hits
    memory.wait()


@pytest.mark.filterwarnings("ignore:.*was deleted while still open:ResourceWarning")  # psycopg's, to who forgot it
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_forgotten_memory_releases_its_threads_and_files(tmp_path):
    forget(tmp_path / "a.db")  # what a process has for all of them
    gc.collect()
    time.sleep(0.2)
    before = held()
    for number in range(5):
        forget(tmp_path / f"{number}.db")
    deadline = time.monotonic() + PATIENCE
    while held() > before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.05)
    assert held() <= before
