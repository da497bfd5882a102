"""Workers that die: processes that do a store's jobs, each killed by SIGKILL in the middle of it.

    python -m crash.workers STORE KILLS SEED MOVES JOBS [MODEL_URL]

Forks one process after the other, so that the imports are paid once. Each opens STORE and works; a few milliseconds
later, by chance, it is killed. The clock of the next one is ahead, so that the leases of the dead have ended. When
KILLS died or nothing is left, a last one works in peace. MOVES and JOBS say how much there is to do: the deaths are
spread over all of it, however fast the machine is.

Prints how many were killed at work, and how many states of the work they left.
"""

from __future__ import annotations

import gc
import os
import random
import select
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import openai.resources.chat.completions  # noqa: F401 - as well, which the SDK puts off

from forked import fork
from memoryos.clock import system_clock
from memoryos.config import Settings, load_settings
from memoryos.cube import Turn
from memoryos.kinds import Role
from memoryos.memory_os import MemoryOS
from memoryos.operation.consolidation import promotion
from memoryos.operation.maintenance import moves as moving
from memoryos.scope import Scope

LEAST, LONGEST = 0.001, 4.0  # seconds that a worker has
MOST, MOST_OF_MODEL = 0.1, 0.6  # seconds that the first ones have; it reads several pages in a call
GOAL = 0.8  # of the work is done when the last one dies
LEASE = timedelta(minutes=2)  # longer than any
THREADS = 2
WARM = Scope(user="warm")


def settings(url: str | None) -> Settings:
    """How the store is used: every segment is hot, and workers do its jobs; with a URL a model reads."""
    common = {"embedder": "hashing", "short_term_capacity": 2, "heat_threshold": 0, "jobs": "worker"}
    if url is None:
        return load_settings(**common)
    model = {"extractor": "model", "llm_model": "scripted", "llm_base_url": url, "batch_seconds": 0, "batch_pages": 6}
    return load_settings(**common, **model)


def work(path: Path, url: str | None, later: timedelta, begin: Callable[[], None]) -> None:
    """Open the store and do what is due; `later` is how far the clock is ahead."""

    def clock() -> datetime:
        return system_clock() + later

    with MemoryOS.open(path, settings=settings(url), clock=clock) as memory:
        begin()
        memory.admin.work(threading.Event(), threads=THREADS, poll_seconds=None)


def started(path: Path, url: str | None, later: timedelta) -> tuple[int, int]:
    """A process that works: its id, and a pipe that tells that it begins."""
    told, tell = os.pipe()
    process = fork()
    if process:
        os.close(tell)
        return process, told
    code = 1
    try:
        os.close(told)
        work(path, url, later, lambda: os.close(tell))
        code = 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def killed(path: Path, url: str | None, later: timedelta, rest: float) -> bool:
    """Whether a worker was killed at work, `rest` seconds after it began."""
    process, told = started(path, url, later)
    select.select([told], [], [], 30)
    os.close(told)
    time.sleep(rest)
    os.kill(process, signal.SIGKILL)
    return ended(process) == -signal.SIGKILL


def ended(process: int) -> int:
    """How a process ended. Exits when it failed by itself."""
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if code not in (0, -signal.SIGKILL):
        sys.exit(f"a worker ended with {code}")
    return code


def warm_up() -> None:
    """Read what every worker reads, before the forks."""
    with TemporaryDirectory() as folder, MemoryOS.open(Path(folder) / "memory.db", settings=settings(None)) as memory:
        memory.of(WARM).add_many([Turn(role=Role.USER, text=f"I like tea number {number}.") for number in range(9)])
        memory.admin.work(threading.Event(), poll_seconds=None)


def state(path: Path) -> tuple[int, int, int]:
    """How much of the work is done: pages that have moved, jobs, and calls of the model."""
    with closing(sqlite3.connect(path)) as connection:
        (moved,) = connection.execute("SELECT count(*) FROM cubes WHERE kind = 'page' AND tier <> 'stm'").fetchone()
        (done,) = connection.execute("SELECT count(*) FROM jobs WHERE state = 'done'").fetchone()
        (calls,) = connection.execute("SELECT coalesce(sum(calls), 0) FROM usage").fetchone()
    return moved, done, calls


def main(path: Path, kills: int, seed: int, work: tuple[int, int], url: str | None) -> None:
    """Kill one worker after the other, and let the last one live."""
    if kills:  # in shorter steps: more is written between two deaths
        moving.AT_A_TIME, moving.MANY_AT_A_TIME = 2, 2
        promotion.PAGES_AT_ONCE, promotion.SEGMENTS_AT_ONCE = 4, 1
    warm_up()
    gc.freeze()
    chance, later, left, most = random.Random(seed), timedelta(), [], MOST_OF_MODEL if url else MOST
    while len(left) < kills:
        if not killed(path, url, later, chance.uniform(LEAST, most)):
            break
        left.append(state(path))
        later += LEASE
        moved, ended_jobs = (part / whole for part, whole in zip(left[-1], work, strict=False))
        done = ended_jobs if url else (moved + ended_jobs) / 2  # to move pages is next to nothing beside a model
        most = most / 2 if done > GOAL * len(left) / kills else min(most * (1.5 if url else 1.2), LONGEST)
    process, told = started(path, url, later)
    os.close(told)
    ended(process)
    print(len(left), len(set(left)))  # noqa: T201 - to the test that reads it


if __name__ == "__main__":
    file, *numbers = sys.argv[1:6]
    wanted, start, moves, ends = map(int, numbers)
    main(Path(file), wanted, start, (moves, ends), sys.argv[6] if len(sys.argv) > 6 else None)
