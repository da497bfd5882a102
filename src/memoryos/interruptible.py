"""Waiting in the main thread for what another thread does, such that Ctrl-C ends it.

Python looks for a signal and then waits for a lock in C. A signal that comes between the two is noticed when the
waiting ends. So no wait here is longer than a moment, and there are as many as it takes.
"""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")

_MOMENT_SECONDS = 0.1


def received(queue: SimpleQueue[T]) -> T:
    """The next item of the queue."""
    while True:
        with suppress(Empty):
            return queue.get(timeout=_MOMENT_SECONDS)


def result(future: Future[T]) -> T:
    """What the future returns or raises."""
    while not future.done():
        with suppress(TimeoutError):
            future.exception(timeout=_MOMENT_SECONDS)
    return future.result()
