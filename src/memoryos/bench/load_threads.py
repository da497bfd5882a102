"""Load threads: the calls of the load clients in Python, each client a thread, `python -m memoryos.bench.load_threads`.

The process gets its task on stdin, says when all are ready, begins with the next line, and answers in JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from typing import Any

from memoryos.bench.load_calls import ADD, WARM_UP, LoadCall, LoadDone, calls_of, user_of
from memoryos.bench.load_clients import await_go
from memoryos.config import load_settings
from memoryos.errors import MemoryOSError
from memoryos.memory_os import MemoryOS


def play_threads(
    store: MemoryOS, tenant: str, clients: int, seconds: float, ready: Callable[[], None] = lambda: None
) -> LoadDone:
    """Let so many threads call the memories of their users for so long, after `ready()`."""
    done = LoadDone()
    asked = [calls_of(number) for number in range(clients)]
    for number, calls in enumerate(asked):
        for _ in range(WARM_UP):
            call = next(calls)
            done.note(user_of(number), call.operation, None, _called(store, tenant, number, call))
    ready()
    with ThreadPoolExecutor(clients) as threads:
        playing = [threads.submit(_play, store, tenant, *one, seconds, done) for one in enumerate(asked)]
    for one in playing:
        one.result()
    return done


def _play(store: MemoryOS, tenant: str, number: int, calls: Iterator[LoadCall], seconds: float, done: LoadDone) -> None:
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        call = next(calls)
        try:
            answer = _called(store, tenant, number, call)
        except MemoryOSError as error:
            done.fail(f"{call.operation}: {type(error).__name__}")
            return
        done.note(user_of(number), call.operation, (time.perf_counter() - began) * 1000, answer)


def _called(store: MemoryOS, tenant: str, number: int, call: LoadCall) -> Any:
    memory = store.memory(user_of(number), tenant=tenant)
    if call.operation == ADD:
        return [memory.add(call.query, call.response)]
    return memory.search(call.query).hits


def _main(place: str, settings: Mapping[str, Any], **task: Any) -> None:
    with closing(MemoryOS.open(place, settings=load_settings(**settings))) as store:
        done = play_threads(store, **task, ready=await_go)
        sys.stdout.write(json.dumps(asdict(done)) + "\n")
        sys.stdout.flush()
        store.wait()  # its moves are not left to the server, which comes next


if __name__ == "__main__":
    _main(**json.loads(sys.stdin.readline()))
