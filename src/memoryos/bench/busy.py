"""Adding while a worker is busy: another process reads the pages of another user of the same store meanwhile.

`python -m memoryos.bench.busy STORE EMBEDDER` is that process; it works until it is told to stop.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from memoryos.bench.adds import Adds, in_turn, summed_up
from memoryos.bench.floor import least_add
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.config import JobsRun, Settings, load_settings
from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault.records import JobState
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.memory_os import open as open_memory
from memoryos.models.embedder import Embedder

USER = "busy"
PAGES = 2_000  # that the worker reads, at most: seconds of work
ADDS = 2_000  # that are timed, at most
PER_PAGE = 4  # of both, for each page of the store: beside a small one they would be all there is
ADDS_AT_ONCE = 50  # between two looks at the worker, which would slow down an add after each
START_SECONDS = 30.0  # after which a worker that takes no job has failed

_SEED = 4
_SPOKEN_SEED = 5


def adds_beside_worker(
    memory: Memory,
    pages: int,
    store: Path,
    embedder: Embedder,
    settings: Settings,
) -> Adds:
    """Add to a memory of so many pages, one exchange after the other for as long as a worker reads."""
    left = settings.model_copy(update={"jobs": JobsRun.WORKER})
    with open_memory(store, user=USER, settings=left, embedder=embedder) as other:
        other.add_many(Dialogue(_SEED).session(min(PAGES, PER_PAGE * pages)))
        other.consolidate()
        with least_add(embedder, store.with_name("busy-least.db")) as least, _worker(store, settings.embedder):
            _await_work(other)
            times: list[tuple[float, float]] = []
            said = Dialogue(_SPOKEN_SEED).exchanges(2 * min(ADDS, PER_PAGE * pages))
            for taken in in_turn(memory, least, said):
                times.append(taken)
                if len(times) % ADDS_AT_ONCE == 0 and not other.jobs.list(JobState.QUEUED, JobState.LEASED):
                    break
    return summed_up(times)


def _await_work(other: Memory) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not other.jobs.list(JobState.LEASED, JobState.DONE):
        if time.monotonic() > deadline:
            raise MemoryOSError("the worker did not take the job")
        time.sleep(0.01)


@contextmanager
def _worker(store: Path, embedder: str) -> Iterator[None]:
    command = [sys.executable, "-m", __name__, str(store), embedder]
    with subprocess.Popen(command) as process:  # noqa: S603 - our own module
        try:
            yield
        finally:
            process.terminate()


def work(store: Path, embedder: str) -> None:
    """Do the jobs of the store until SIGTERM."""
    stop = Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    with MemoryOS.open(store, settings=load_settings(embedder=embedder, mounts=())) as memory:
        memory.admin.work(stop)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is told by the process that was asked
    work(Path(sys.argv[1]), sys.argv[2])
