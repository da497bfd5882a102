"""Patience: how long one call may still wait for others, however many locks it takes.

A call of MemoryOS has one account of what it waited for locks and connections; the calls that it makes share it. What
no call waits for, such as a job, has none: there each transaction begins its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial, wraps
from typing import ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Lockable(Protocol):
    """A lock of threads, or a semaphore."""

    def acquire(self, blocking: bool = ..., timeout: float = ...) -> bool:
        """Take it; whether that came to pass in time."""
        ...


@dataclass(slots=True)
class _Account:
    """What one call waited so far, seconds."""

    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may still wait, where a whole call may wait `most` seconds."""

    most: float
    _account: _Account

    @property
    def left(self) -> float:
        """Seconds."""
        return max(0.0, self.most - self._account.waited)

    def spend(self, seconds: float) -> None:
        """Note that it waited so long."""
        self._account.waited += seconds

    def spend_all(self) -> None:
        """Note that it waited as long as it may."""
        self.spend(math.inf)

    def pause(self, seconds: float) -> None:
        """Wait so long."""
        since = time.monotonic()
        time.sleep(seconds)
        self.spend(time.monotonic() - since)

    def takes(self, lock: Lockable) -> bool:
        """Take the lock as soon as it is free; whether that was in time."""
        if lock.acquire(blocking=False):
            return True
        since = time.monotonic()
        is_taken = lock.acquire(timeout=self.left)
        self.spend(time.monotonic() - since)
        return is_taken


_CALL: ContextVar[_Account | None] = ContextVar("memoryos_patience", default=None)


def patience(most: float) -> Patience:
    """That of the call which this is a part of, or a new one; a call may wait `most` seconds."""
    return Patience(most, _CALL.get() or _Account())


def in_one_call(call: Callable[[], T]) -> T:
    """What the call returns; all that it waits counts as one wait, together with the call which this is a part of."""
    return call() if _CALL.get() else _under(_Account(), call)


def one_call(function: Callable[P, T]) -> Callable[P, T]:
    """The function, each call of which is `in_one_call`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return in_one_call(partial(function, *args, **kwargs))

    return call


def apart(call: Callable[[], T]) -> T:
    """What the call returns; what it waits counts for nobody."""
    return _under(None, call)


def _under(account: _Account | None, call: Callable[[], T]) -> T:
    # In a context of its own, which no interrupt can leave behind.
    def run() -> T:
        _CALL.set(account)
        return call()

    return copy_context().run(run)
