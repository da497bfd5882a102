"""A memory that nobody closed and nobody has any more releases its files and threads when garbage is collected once."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoryos
from memoryos import load_settings

PATIENCE = 60.0  # seconds; threads end in their own time


def held() -> tuple[int, int]:
    """Threads and open files of this process."""
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.enable()


def forget(path) -> None:
    memory = memoryos.open(path, user="ann", settings=load_settings(embedder="hashing"))
    memory.add("I bought a kite.")
    assert memory.search("kite").hits
    memory.wait()


@pytest.mark.filterwarnings("ignore:.*was deleted while still open:ResourceWarning")  # psycopg's, to who forgot it
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_forgotten_memory_releases_its_threads_and_files(tmp_path):
    gc.disable()  # it may come when it likes
    forget(tmp_path / "a.db")  # what a process has for all of them
    gc.collect()
    time.sleep(0.2)
    before = held()
    for number in range(2):
        forget(tmp_path / f"{number}.db")
    gc.collect()  # once
    deadline = time.monotonic() + PATIENCE
    while exceeds(held(), before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not exceeds(held(), before)


def exceeds(now: tuple[int, int], before: tuple[int, int]) -> bool:
    return any(new > old for new, old in zip(now, before, strict=True))
