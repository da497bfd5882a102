"""Hand: runs calls of the main thread in a separate thread, where no interrupt reaches them.

Python raises the exceptions of signal handlers (such as Ctrl-C) in the main thread, between any two bytecodes: even
between taking a lock and the `try` that would release it. So everything that takes locks, connections and transactions
runs in another thread, and the main thread waits for it. An interrupt only ends the wait: the call is still completed,
and the next one begins after it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextvars import copy_context
from datetime import UTC, tzinfo
from functools import partial, wraps
from queue import SimpleQueue
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar, cast
from weakref import finalize

from memoryos.caller import is_background
from memoryos.errors import StorageError
from memoryos.home_process import HomeProcess
from memoryos.infrastructure.vault.patience import is_in_a_call
from memoryos.interruptible import received

P = ParamSpec("P")
T = TypeVar("T")

# Queues and locks in C: an interrupt finds them before or after an operation, never within one.
_Answer = tuple[Any, BaseException | None]
_Calls = SimpleQueue[tuple[Callable[[], Any], "SimpleQueue[_Answer]"] | None]


class Showing(Protocol):
    """Makes what callers may see of the result of a call."""

    def __call__(self, result: T, /) -> T:
        """Return the result as callers may see it."""
        ...


class Hand:
    """Runs calls of the main thread one after the other; calls of other threads run in their own thread."""

    def __init__(self, name: str, zone: tzinfo = UTC) -> None:
        """`zone` is the time zone of times without one."""
        self._name = name
        self.zone = zone
        self.shown: Showing = _all_of  # what callers may see of what a call returns
        self._home = HomeProcess()
        self._is_closing = False
        self._start()

    @property
    def is_forked(self) -> bool:
        """Whether this is a copy in a forked child, which has none of the threads."""
        return self._home.is_left

    def check_process(self) -> None:
        """Raise StorageError in a forked child."""
        self._home.check()

    def check_open(self) -> None:
        """Raise StorageError for a new call if the store is closed or closing.

        What has begun goes on: the rest of a call, and background work that calls the memory, such as a job.
        """
        if self._is_closing and not (is_in_a_call() or is_background()):
            raise StorageError("the memory is closed; open it again")

    def refuse(self) -> None:
        """Refuse new calls from now on."""
        self._is_closing = True

    def run(self, call: Callable[[], T]) -> T:
        """Run the call; return its result or raise its exception."""
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

    def follow(self, call: Callable[[], object]) -> None:
        """Let the thread run one more call after the others; nobody waits for it."""
        self._calls.put((call, SimpleQueue()))

    def settle(self) -> None:
        """Wait until all calls so far are done."""
        ended: SimpleQueue[None] = SimpleQueue()
        self.follow(partial(ended.put, None))
        received(ended)

    def stop(self) -> None:
        """End the thread after the waiting calls; a later call starts a new one."""
        self._end()

    def _start(self) -> None:
        self._calls: _Calls = SimpleQueue()
        # A daemon: at the end of the program nobody waits for a call that was interrupted, and the store survives that.
        name = f"memoryos-{self._name}"
        threading.Thread(target=_serve, args=(self._calls,), name=name, daemon=True).start()
        self._end = finalize(self, self._calls.put, None)  # who is forgotten leaves no thread behind
        self._end.atexit = False


class Closable(Protocol):
    """What can be closed."""

    def close(self) -> None:
        """Release it."""
        ...


C = TypeVar("C", bound=Closable)
_openers: list[Hand] = []  # at most one: to start a thread for each call would be a moment that an interrupt can hit


def by_a_hand(function: Callable[P, C]) -> Callable[P, C]:
    """A decorator for what opens a store: a call of the main thread runs in a thread that all such calls share.

    What an interrupted call opens is closed.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> C:
        work = partial(function, *args, **kwargs)
        if threading.get_ident() != threading.main_thread().ident:
            return work()
        hand = opener()
        opened: list[C] = []

        def open_it() -> C:
            opened.append(work())
            return opened[0]

        try:
            return hand.run(open_it)
        except BaseException:
            hand.follow(lambda: [one.close() for one in opened])
            raise

    return call


def opener() -> Hand:
    """The hand for what opens a store or is about a whole one."""
    if not _openers or _openers[0].is_forked:
        _openers[:] = [Hand("opening")]
    return _openers[0]


def _all_of(result: T, /) -> T:
    return result


def _serve(calls: _Calls) -> None:
    """Run calls from the queue until it gives None, and keep nothing of a finished call."""
    home = HomeProcess()
    while (taken := calls.get()) is not None:
        call, answer = taken
        done = _done(call)
        if home.is_left:
            _end(done[1])
        answer.put(done)
        del taken, call, answer, done


def _end(error: BaseException | None) -> NoReturn:
    """End a child that a callback forked in this thread, and did not end: the thread that waits is its parent's."""
    told = StorageError(
        "a callback of this call forked the process and returned in the child, where nobody waits for the call: "
        "end the child in the callback (os._exit), or fork outside calls of a memory"
    )
    told.__cause__ = error
    sys.excepthook(StorageError, told, None)
    sys.stderr.flush()
    os._exit(1)


def _done(call: Callable[[], Any]) -> _Answer:
    try:
        return call(), None
    except BaseException as error:  # noqa: BLE001 - the caller gets it
        return None, error
