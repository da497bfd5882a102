"""Adding while a worker is busy: another process reads the pages of another user of the same store meanwhile.

The worker takes a core, its caches and the disk, and with these slows down whatever is done beside it. So the floor is
measured beside it, too: after each add the least that one takes.

`python -m memoryos.bench.busy STORE EMBEDDER` is that process; it works until it is told to stop.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

from memoryos.bench.dialogue import Dialogue
from memoryos.bench.floor import least_add
from memoryos.bench.timing import milliseconds, percentiles
from memoryos.config import JobsRun, Settings, load_settings
from memoryos.errors import MemoryOSError
from memoryos.infrastructure.vault.contract import JobState
from memoryos.memory import MemoryOS
from memoryos.models.embedder import Embedder

USER = "busy"
PAGES = 2_000  # that the worker reads, at most: seconds of work
ADDS = 2_000  # that are timed, at most
PER_PAGE = 4  # of both, for each page of the store: beside a small one they would be all there is
ADDS_AT_ONCE = 50  # between two looks at the worker, which would slow down an add after each
START_SECONDS = 30.0  # after which a worker that takes no job has failed

_SEED = 4
_SPOKEN_SEED = 5


@dataclass(frozen=True, slots=True)
class Beside:
    """Durable adds beside a busy worker, and what each takes at least, in turn; ms."""

    add_ms: dict[str, float]  #: p50 and p95
    floor_ms: float  #: p50 of the two texts of one add and one row


def adds_beside_worker(
    memory: MemoryOS,
    pages: int,
    store: Path,
    embedder: Embedder,
    settings: Settings,
) -> Beside:
    """Add to a memory of so many pages, one exchange after the other for as long as a worker reads."""
    left = settings.model_copy(update={"jobs": JobsRun.WORKER})
    with MemoryOS.open(store, user=USER, settings=left, embedder=embedder) as other:
        other.add_many(Dialogue(_SEED).session(min(PAGES, PER_PAGE * pages)))
        other.consolidate()
        with least_add(embedder, store.with_name("least.db")) as least, _worker(store, settings.embedder):
            _await_work(other)
            times: list[float] = []
            floors: list[float] = []
            said = Dialogue(_SPOKEN_SEED).exchanges(2 * min(ADDS, PER_PAGE * pages))
            for exchange, unheard in zip(said[::2], said[1::2], strict=True):
                times.append(milliseconds(partial(memory.add, *exchange)))
                floors.append(milliseconds(partial(least, unheard)))
                if len(times) % ADDS_AT_ONCE == 0 and not other.jobs(JobState.QUEUED, JobState.LEASED):
                    break
    return Beside(percentiles(times, 50, 95), percentiles(floors, 50)["p50"])


def _await_work(other: MemoryOS) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not other.jobs(JobState.LEASED, JobState.DONE):
        if time.monotonic() > deadline:
            raise MemoryOSError("the worker took no job")
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
        memory.work(stop)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is told by the process that was asked
    work(Path(sys.argv[1]), sys.argv[2])
