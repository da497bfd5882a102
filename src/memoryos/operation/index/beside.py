"""Beside: work on arrays in another thread, for which NumPy lets go of the interpreter."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")


def beside(work: Callable[[], T]) -> Future[T]:
    """Start the work in another thread; the caller waits for its end.

    At the end of the program no other thread takes any: then the caller does it here, and gets its errors here.
    """
    try:
        return _others(os.getpid()).submit(work)
    except RuntimeError:
        done = Future[T]()
    done.set_result(work())
    return done


def shared(parts: Iterable[Callable[[], None]]) -> None:
    """Do all parts, some of them in another thread if one has nothing else to do; raises what one of them raises."""
    left = deque(parts)
    helper = beside(lambda: _work_off(left))
    try:
        _work_off(left)
    finally:
        left.clear()  # after an error
        if not helper.cancel():  # it has begun
            wait([helper])
    if not helper.cancelled():
        helper.result()


def _work_off(left: deque[Callable[[], None]]) -> None:
    while left:
        try:
            part = left.popleft()
        except IndexError:  # the other thread was faster
            return
        part()


@lru_cache(1)
def _others(_process: int) -> ThreadPoolExecutor:
    """The threads beside those of callers, one for each further core; to start one takes a fifth of what it saves.

    A forked process has its own.
    """
    return ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "memoryos-arrays")
