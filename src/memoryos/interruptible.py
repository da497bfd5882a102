"""Interruptible: waiting in the main thread for another thread so that Ctrl-C works.

Python checks for signals and then waits for a lock in C. A signal between the two is noticed only after the wait. So
each wait here is short and repeated.
"""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_MOMENT_SECONDS = 0.1


def received(queue: SimpleQueue[T]) -> T:
    """Wait for the next item of the queue and return it."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=_MOMENT_SECONDS)


def result(future: Future[T]) -> T:
    """Wait for the future and return its result or raise its exception."""
    while not future.done():
        with suppress(TimeoutError):
            future.exception(timeout=_MOMENT_SECONDS)
    return future.result()
