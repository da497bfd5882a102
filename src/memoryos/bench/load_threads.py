"""Load threads: the calls of the load clients in Python, each client a thread, `python -m memoryos.bench.load_threads`.

The process gets its task on stdin, says when all are ready, begins with the next line, says and does the same once more
for the calls without an add, and answers in JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import Any

from memoryos.bench.load_calls import ADD, WARM_UP, LoadCall, LoadDone, calls_of, user_of, without_adds
from memoryos.bench.load_clients import await_go
from memoryos.config import load_settings
from memoryos.errors import MemoryOSError
from memoryos.memory_os import MemoryOS


def play_threads(
    store: MemoryOS,
    tenant: str,
    clients: int,
    seconds: float,
    steady: float = 0.0,
    ready: Callable[[], None] = lambda: None,
) -> LoadDone:
    """Let so many threads call the memories of their users for so long, and then for `steady` seconds without an add.

    Each begins with `ready()`.
    """
    done = LoadDone()
    asked = [calls_of(number) for number in range(clients)]
    for number, calls in enumerate(asked):
        for _ in range(WARM_UP):
            call = next(calls)
            done.note(user_of(number), call.operation, None, _called(store, tenant, number, call))
    with ThreadPoolExecutor(clients) as threads:
        for duration, is_steady in ((seconds, False), (steady, True)):
            ready()
            play = partial(_play, store, tenant, seconds=duration, is_steady=is_steady, done=done)
            for one in [threads.submit(play, *each) for each in enumerate(asked)]:
                one.result()
    return done


def _play(
    store: MemoryOS,
    tenant: str,
    number: int,
    calls: Iterator[LoadCall],
    seconds: float,
    done: LoadDone,
    *,
    is_steady: bool,
) -> None:
    end = time.perf_counter() + seconds
    asked = without_adds(calls) if is_steady else calls
    is_over = False
    while not is_over:  # one call at least, however slow the machine is
        call, began = next(asked), time.perf_counter()
        try:
            answer = _called(store, tenant, number, call)
        except MemoryOSError as error:
            done.fail(f"{call.operation}: {type(error).__name__}")
            return
        ms = None if is_steady else (time.perf_counter() - began) * 1000
        done.note(user_of(number), call.operation, ms, answer)
        is_over = time.perf_counter() >= end


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
