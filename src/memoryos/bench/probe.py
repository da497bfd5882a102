"""Searching a store in a fresh process: `python -m memoryos.bench.probe STORE EMBEDDER`, figures as JSON on stdout.

A process of its own, so that its memory is that of a program which searches and nothing else, and so that the first
answer is cold. What a search imports only when it runs belongs to the cold start: onnxruntime, for one. The searches
have a user's defaults: hybrid, in the archive, too.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from memoryos.bench.machine import rss_mb
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.timing import milliseconds, percentiles
from memoryos.config import load_settings
from memoryos.errors import MemoryOSError
from memoryos.memory_os import open as open_memory

USER = "bench"
SEARCHES = 200
WARM_UP = 20
SEED = 2  # not the dialogue's, whose first words would come again


@dataclass(frozen=True, slots=True)
class Probed:
    """The measurements of the process."""

    cold_start_ms: float  #: from before the store is opened to the first answer
    search_ms: dict[str, float]  #: p50, p95 and p99
    rss_mb: float | None  #: after the searches


def probe(store: Path, embedder: str) -> Probed:
    """Search the store in a process of its own. Raises MemoryOSError when that fails."""
    command = [sys.executable, "-m", __name__, str(store), embedder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    if done.returncode:
        raise MemoryOSError(f"the searching process failed: {done.stderr.strip()[-500:]}")
    return Probed(**json.loads(done.stdout))


def searched(store: Path, embedder: str) -> Probed:
    """Open and search the store in this process."""
    settings = load_settings(embedder=embedder, mounts=())
    questions = Dialogue(SEED).questions(WARM_UP + SEARCHES)
    start = time.perf_counter()
    with open_memory(store, user=USER, settings=settings) as memory:
        memory.search(questions[0])
        cold_start_ms = (time.perf_counter() - start) * 1000
        for question in questions[1:WARM_UP]:
            memory.search(question)
        memory.wait()
        times = [milliseconds(partial(memory.search, question)) for question in questions[WARM_UP:]]
        return Probed(cold_start_ms, percentiles(times, 50, 95, 99), rss_mb())


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt is told by the process that was asked
    sys.stdout.write(json.dumps(asdict(searched(Path(sys.argv[1]), sys.argv[2]))))
