"""Proxy overhead: the time to the first bytes of a streamed answer, direct and through the proxy of `memoryos serve`.

A scripted model server, the proxy and the client are three processes. The ways to ask take turns, a few requests each,
so that all meet the machine as it is at that moment.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from http.client import HTTPConnection
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.bench.machine import cpu_seconds
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.started import next_line, started
from memoryos.bench.timing import percentiles
from memoryos.config import Settings
from memoryos.errors import MemoryOSError
from memoryos.memory_os import open as open_memory

USER = "bench"
REQUESTS = 200
WARM_UP = 20
SEED = 22
DIRECT = "direct"
WAYS = (DIRECT, "off", "read", "on")  # the others are what the proxy does with memory

_AT_ONCE = 10  # requests of one way before the next has its turn


@dataclass(frozen=True, slots=True)
class ProxyCost:
    """What one way to ask takes."""

    first_ms: Mapping[str, float]  #: p50 and p95 of the time to the first bytes of the answer
    overhead_ms: float  #: how much later they come than directly, median
    cpu_ms: float | None  #: processor time of the proxy for a request; None where the system does not tell


@dataclass
class _TimedWay:
    first_ms: list[float] = field(default_factory=list)
    cpu_s: float = 0.0


def measure_proxy(
    pages: int, settings: Settings, progress: Progress = unwatched, *, requests: int = REQUESTS
) -> dict[str, ProxyCost]:
    """Ask so often in each way, with a memory of so many pages. Raises MemoryOSError if a process fails."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="memoryos-bench-")))
        with open_memory(folder / "proxy.db", user=USER, settings=settings) as memory:
            memory.add_many(Dialogue(SEED).session(pages))
            memory.wait()
        model = stack.enter_context(started("memoryos.bench.scripted_server"))
        upstream = f"http://127.0.0.1:{int(next_line(model))}"
        serve = ("serve", "--port", "0", "--json", "--db", str(folder / "proxy.db"), "--upstream", f"{upstream}/v1")
        proxy = stack.enter_context(started("memoryos", *serve))
        url = json.loads(next_line(proxy))["url"]
        found = _alternating({way: upstream if way == DIRECT else url for way in WAYS}, proxy.pid, requests, progress)
    direct = percentiles(found[DIRECT].first_ms, 50)["p50"]
    return {way: _cost(asked, direct, way) for way, asked in found.items()}


def _alternating(urls: Mapping[str, str], pid: int, requests: int, progress: Progress) -> dict[str, _TimedWay]:
    asked = {way: _TimedWay() for way in urls}
    questions = iter(Dialogue(SEED + 1).questions(len(urls) * (requests + WARM_UP)))
    for number in (*range(-WARM_UP, 0, _AT_ONCE), *range(0, requests, _AT_ONCE)):
        for way, url in urls.items():
            before = cpu_seconds(pid)
            wanted = islice(questions, min(_AT_ONCE, (requests if number >= 0 else 0) - number))
            with closing(HTTPConnection(url.partition("//")[2])) as connection:  # servers close idle ones
                connection.connect()
                times = [_first_ms(connection, way, question, is_warm_up=number < 0) for question in wanted]
            if number >= 0:
                asked[way].first_ms += times
                asked[way].cpu_s += (cpu_seconds(pid) or 0.0) - (before or 0.0)
        progress("requests", max(0, min(requests, number + _AT_ONCE)), requests)
    return asked


def _first_ms(connection: HTTPConnection, way: str, question: str, *, is_warm_up: bool) -> float:
    """The time until the first bytes of the answer are here; the rest of it is read, too.

    Raises MemoryOSError without memory, except while the proxy reads its index for the first time.
    """
    asked = {"model": "scripted", "stream": True, "messages": [{"role": "user", "content": question}]}
    headers = {"Content-Type": "application/json", "X-MemoryOS-User": USER}
    headers |= {} if way == DIRECT else {"X-MemoryOS-Memory": way}
    start = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", json.dumps(asked).encode(), headers)
    answer = connection.getresponse()
    answer.read1(1)
    took = (time.perf_counter() - start) * 1000
    answer.read()
    memory = answer.headers.get("X-MemoryOS-Status", "")
    if answer.status != 200 or (memory.startswith("unavailable") and not is_warm_up):
        raise MemoryOSError(f"the answer to {way!r} has the status {answer.status}, memory: {memory}")
    return took


def _cost(asked: _TimedWay, direct: float, way: str) -> ProxyCost:
    first = percentiles(asked.first_ms, 50, 95)
    cpu_ms = asked.cpu_s * 1000 / len(asked.first_ms)
    return ProxyCost(first, first["p50"] - direct, None if way == DIRECT or not asked.cpu_s else cpu_ms)
