"""Search process: searches the tenants of a store in a process of its own, `python -m memoryos.bench.search_process`.

It gets its task as JSON on stdin and answers in JSON on stdout.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from memoryos.bench.machine import rss_mb
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.timing import milliseconds, percentiles
from memoryos.config import Settings, load_settings
from memoryos.errors import MemoryOSError
from memoryos.memory_os import MemoryOS
from memoryos.scope import Scope

USER = "bench"
WARM_UP = 20

_SEED = 2


@dataclass(frozen=True, slots=True)
class Visited:
    """The measurements of a search process."""

    first_ms: (
        float  #: of the first search of the first tenant, in a process that searched nothing yet but an empty scope
    )
    moved_out_s: float | None  #: what it took to build the candidate index of a large tenant; None: there is none
    within_ms: dict[str, float]  #: p50 and p95 of searches in one tenant
    roaming_ms: dict[str, float]  #: of searches of which each is in some tenant, drawn at random
    rss_mb: float | None  #: after all of it


def visit(place: str, embedder: str, tenants: Sequence[str], *, searches: int, is_large: bool = False) -> Visited:
    """Search the tenants in a process of its own; a large one after its turns moved to the candidate index.

    Raises MemoryOSError when that fails.
    """
    wanted = {"tenants": list(tenants), "searches": searches, "is_large": is_large}
    task = json.dumps({"place": place, "embedder": embedder, **wanted})
    command = [sys.executable, "-m", __name__]
    done = subprocess.run(command, input=task, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    if done.returncode:
        raise MemoryOSError(f"the searching process failed: {done.stderr.strip()[-500:]}")
    return Visited(**json.loads(done.stdout))


def visited(place: str, embedder: str, tenants: Sequence[str], *, searches: int, is_large: bool) -> Visited:
    """Search the tenants, in this process."""
    first = Scope(tenant=tenants[0], user=USER)
    chance = random.Random(_SEED)  # noqa: S311 - nobody is to be surprised
    asked = iter(Dialogue(_SEED).questions(2 * (WARM_UP + searches)))
    settings = load_settings(embedder=embedder, mounts=())
    moved_out_s = _moved_out(place, settings, first) if is_large else None
    with MemoryOS.open(place, settings=settings, read_only=True) as memory:  # pages wait for workers, and go on waiting
        memory.of(Scope(tenant=tenants[0], user="nobody")).search("warm up")
        first_ms = _search_ms(memory, next(asked), first)
        within = [_search_ms(memory, next(asked), first) for _ in range(WARM_UP + searches)][WARM_UP:]
        drawn = [Scope(tenant=chance.choice(tenants), user=USER) for _ in range(searches)]
        roaming = [_search_ms(memory, next(asked), scope) for scope in drawn]
        return Visited(first_ms, moved_out_s, percentiles(within, 50, 95), percentiles(roaming, 50, 95), rss_mb())


def _moved_out(place: str, settings: Settings, scope: Scope) -> float | None:
    with MemoryOS.open(place, settings=settings) as memory:
        start = time.perf_counter()
        return time.perf_counter() - start if memory.of(scope).upkeep.index() else None


def _search_ms(memory: MemoryOS, question: str, scope: Scope) -> float:
    return milliseconds(partial(memory.of(scope).search, question))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt is told by the process that was asked
    sys.stdout.write(json.dumps(asdict(visited(**json.load(sys.stdin)))))
