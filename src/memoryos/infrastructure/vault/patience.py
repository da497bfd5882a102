"""Patience: the remaining time that one call may wait, over all its locks.

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
        """Acquire the lock; return whether it was in time."""
        ...


@dataclass(slots=True)
class _Account:
    """The seconds that one call has waited so far."""

    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a call may still wait, where a whole call may wait `most` seconds."""

    most: float
    _account: _Account

    @property
    def left(self) -> float:
        """The seconds left."""
        return max(0.0, self.most - self._account.waited)

    def spend(self, seconds: float) -> None:
        """Record that it waited that long."""
        self._account.waited += seconds

    def spend_all(self) -> None:
        """Record that the whole time is used."""
        self.spend(math.inf)

    def pause(self, seconds: float) -> None:
        """Wait that long."""
        since = time.monotonic()
        time.sleep(seconds)
        self.spend(time.monotonic() - since)

    def takes(self, lock: Lockable) -> bool:
        """Acquire the lock when it is free; return whether it was in time."""
        if lock.acquire(blocking=False):
            return True
        since = time.monotonic()
        is_taken = lock.acquire(timeout=self.left)
        self.spend(time.monotonic() - since)
        return is_taken


_CALL: ContextVar[_Account | None] = ContextVar("memoryos_patience", default=None)


def patience(most: float) -> Patience:
    """The patience of the current call, or a new one; a call may wait `most` seconds."""
    return Patience(most, _CALL.get() or _Account())


def in_one_call(call: Callable[[], T]) -> T:
    """Run the call; all its waiting counts as one wait, together with the call that it is part of."""
    return call() if _CALL.get() else _under(_Account(), call)


def is_in_a_call() -> bool:
    """Whether this runs within a call."""
    return _CALL.get() is not None


def one_call(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator that runs each call through `in_one_call`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return in_one_call(partial(function, *args, **kwargs))

    return call


def apart(call: Callable[[], T]) -> T:
    """Run the call; its waiting does not count."""
    return _under(None, call)


def _under(account: _Account | None, call: Callable[[], T]) -> T:
    # In a context of its own, which no interrupt can leave behind.
    def run() -> T:
        _CALL.set(account)
        return call()

    return copy_context().run(run)
