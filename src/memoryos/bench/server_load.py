"""Server load: many clients of `memoryos serve` at once, beside the same calls in Python; and whether it kept all.

The calls in Python come first, as threads of one process, in a tenant of their own. Then a server process answers the
clients, which are one more process. In the end the store is opened again: every page that the server acknowledged must
be there, once.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from memoryos.bench.actor import settings_of
from memoryos.bench.load_calls import ADD, LoadDone, user_of
from memoryos.bench.machine import cpu_seconds, rss_mb
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.started import next_line, say, started
from memoryos.bench.timing import percentiles
from memoryos.config import Settings
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS

CLIENTS, SECONDS = 64, 60.0

_SAMPLES = 32  # of the memory of a process
_TOLD = 4  # of them, and one at the start
_STEADY = 0.5  # of the time, once more, without an add
_UNLIMITED = "100000000"  # requests a minute


@dataclass(frozen=True, slots=True)
class LoadWay:
    """What one way to call does."""

    per_second: float
    ms: Mapping[str, Mapping[str, float]]  #: p50, p95 and p99 of each operation
    errors: Mapping[str, int]
    pages: int  #: acknowledged
    lost: int  #: acknowledged, and not there afterwards
    unknown: int  #: there, and never acknowledged
    cpu_ms: float | None  #: processor time of the process for a call; None where the system does not tell
    rss_mb: tuple[float | None, ...]  #: of the process at the start, after each quarter of the time
    steady_mb: tuple[float | None, ...]  #: the same, afterwards, while nothing is added
    grown_kb: float | None  #: how much more memory the process had at the end of the time, for each page added in it
    index_kb: float | None  #: of it, what the indexes of the users take, for each of their pages

    @property
    def is_sound(self) -> bool:
        """Whether no call failed, and what is stored is what was acknowledged."""
        return not (self.errors or self.lost or self.unknown)


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The same load in Python and over HTTP."""

    clients: int
    seconds: float
    python: LoadWay
    http: LoadWay

    @property
    def share(self) -> float:
        """The calls over HTTP in a second, as a share of those in Python."""
        return self.http.per_second / self.python.per_second

    @property
    def is_sound(self) -> bool:
        """Whether both ways were."""
        return self.python.is_sound and self.http.is_sound


def measure_load(
    place: str, settings: Settings, progress: Progress = unwatched, *, clients: int = CLIENTS, seconds: float = SECONDS
) -> LoadReport:
    """Let so many clients use the store at `place` for so long, in two tenants of their own, which stay there.

    Raises MemoryOSError when a process fails.
    """
    ways = {way: f"bench-{way}-{uuid4().hex[:8]}" for way in ("python", "http")}
    python = _in_python(place, settings, ways["python"], clients, seconds, progress)
    http = _over_http(place, settings, ways["http"], clients, seconds, progress)
    played = {"python": python, "http": http}
    with closing(MemoryOS.open(place, settings=settings)) as store:
        found = {way: _way(store, ways[way], clients, seconds, *one) for way, one in played.items()}
    return LoadReport(clients, seconds, found["python"], found["http"])


_Sizes = tuple[float | None, ...]
_Played = tuple[LoadDone, float | None, _Sizes, _Sizes]


def _in_python(
    place: str, settings: Settings, tenant: str, clients: int, seconds: float, progress: Progress
) -> _Played:
    task = {"place": place, "settings": settings_of(settings, has_workers=False), "tenant": tenant}
    with started("memoryos.bench.load_threads") as process:
        return _played(process, process.pid, {**task, "clients": clients, "seconds": seconds}, "in Python", progress)


def _over_http(
    place: str, settings: Settings, tenant: str, clients: int, seconds: float, progress: Progress
) -> _Played:
    with closing(MemoryOS.open(place, settings=settings)) as store:
        keys = [store.keys.create(user, tenant=tenant, users=[user]).key for user in map(user_of, range(clients))]
    serve = ("serve", "--port", "0", "--json", "--db", place, "--rate", _UNLIMITED)
    with started("memoryos", *serve) as server, started("memoryos.bench.load_clients") as process:
        task = {"url": json.loads(next_line(server))["url"], "keys": keys, "seconds": seconds}
        played = _played(process, server.pid, task, "over HTTP", progress)
        server.terminate()
        server.wait()
    return played


def _played(
    process: subprocess.Popen[str], measured: int, task: Mapping[str, Any], name: str, progress: Progress
) -> _Played:
    """What a process does, and the processor time and the memory of the measured one meanwhile."""
    steady = task["seconds"] * _STEADY
    say(process, json.dumps({**task, "steady": steady}))
    cpu_s, sizes = _watched(process, measured, task["seconds"], name, progress)
    _, flat = _watched(process, measured, steady, f"{name}, without adds", progress)
    done = LoadDone(**json.loads(next_line(process)))
    process.wait()
    return done, cpu_s, sizes, flat


def _watched(
    process: subprocess.Popen[str], measured: int, seconds: float, name: str, progress: Progress
) -> tuple[float | None, _Sizes]:
    """The processor time and the memory of the measured process while the other one plays for so long."""
    next_line(process)
    sizes, before = [rss_mb(measured)], cpu_seconds(measured)
    say(process, "go")
    for number in range(_SAMPLES):
        time.sleep(seconds / _SAMPLES)
        sizes.append(rss_mb(measured))
        progress(name, number + 1, _SAMPLES)
    after = cpu_seconds(measured)
    return None if before is None or after is None else after - before, tuple(sizes[:: _SAMPLES // _TOLD])


def _way(
    store: MemoryOS,
    tenant: str,
    clients: int,
    seconds: float,
    done: LoadDone,
    cpu_s: float | None,
    sizes: _Sizes,
    flat: _Sizes,
) -> LoadWay:
    told = {one for ids in done.ids.values() for one in ids}
    memories = [store.memory(user_of(number), tenant=tenant) for number in range(clients)]
    there = {page.id for memory in memories for page in memory.pages.list()}
    calls, added = sum(map(len, done.ms.values())), len(done.ms[ADD])
    return LoadWay(
        per_second=calls / seconds,
        ms={operation: percentiles(times, 50, 95, 99) for operation, times in done.ms.items() if times},
        errors=done.errors,
        pages=len(told),
        lost=len(told - there),
        unknown=len(there - told),
        cpu_ms=None if cpu_s is None or not calls else cpu_s * 1000 / calls,
        rss_mb=sizes,
        steady_mb=flat,
        grown_kb=_grown_kb(sizes, added),
        index_kb=_index_bytes(store, memories) / 1000 / len(there) if there else None,
    )


def _grown_kb(sizes: _Sizes, added: int) -> float | None:
    first, *_, last = sizes
    return None if first is None or last is None or not added else (last - first) * 1000 / added


def _index_bytes(store: MemoryOS, memories: Sequence[Memory]) -> int:
    """About what the indexes of these users take: their first search makes them."""
    before = store._engine.residency.nbytes
    for memory in memories:
        memory.search("Where?")
    return store._engine.residency.nbytes - before
