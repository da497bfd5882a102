"""Hand: runs calls of the main thread in a thread of its own, where no interrupt reaches them.

What a signal handler raises (Ctrl-C is one) Python raises in the main thread, between any two bytecodes: also between
the taking of a lock and the `try` that would release it. So all that takes locks, connections and transactions runs in
another thread, and the main thread waits for it. An interrupt ends the waiting only: the call is finished nevertheless,
and the next one begins after it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, tzinfo
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar, cast
from weakref import finalize

from memoryos.interruptible import received

T = TypeVar("T")

# Queues and locks in C: an interrupt finds them before or after an operation, never within one.
_Answer = tuple[Any, BaseException | None]
_Calls = SimpleQueue[tuple[Callable[[], Any], "SimpleQueue[_Answer]"] | None]


class Hand:
    """Runs calls of the main thread one after the other; calls of other threads run where they are."""

    def __init__(self, name: str, zone: tzinfo = UTC) -> None:
        """`zone` is that of times without one, as its callers state them."""
        self._name = name
        self.zone = zone
        self._process = os.getpid()
        self._start()

    @property
    def is_forked(self) -> bool:
        """Whether this is a copy in the child of a fork, which has none of the threads."""
        return self._process != os.getpid()

    def run(self, call: Callable[[], T]) -> T:
        """What the call returns or raises."""
        if threading.get_ident() != threading.main_thread().ident:
            return call()
        if not self._end.alive:
            self._start()
        answer: SimpleQueue[_Answer] = SimpleQueue()
        self._calls.put((partial(copy_context().run, call), answer))
        value, error = received(answer)
        if error is not None:
            try:
                raise error
            finally:
                del error  # it refers to this frame
        return cast("T", value)

    def stop(self) -> None:
        """End the thread after the calls that wait; a later call begins another one."""
        self._end()

    def _start(self) -> None:
        self._calls: _Calls = SimpleQueue()
        # A daemon: at the end of the program nobody waits for a call that was interrupted, and the store survives that.
        name = f"memoryos-{self._name}"
        threading.Thread(target=_serve, args=(self._calls,), name=name, daemon=True).start()
        self._end = finalize(self, self._calls.put, None)  # who is forgotten leaves no thread behind
        self._end.atexit = False


def _serve(calls: _Calls) -> None:
    """Do what the queue gives until it gives None; nothing of a call is kept when it is done."""
    while (taken := calls.get()) is not None:
        call, answer = taken
        answer.put(_done(call))
        del taken, call, answer


def _done(call: Callable[[], Any]) -> _Answer:
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - the caller gets it
        return None, error
