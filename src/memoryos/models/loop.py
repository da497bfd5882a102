"""The event loop in which models are called, in a thread of its own: a call there can be ended at any moment.

Each process has one. It begins with the first call, and a forked process begins another.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Lock, Thread, get_ident
from typing import Any, TypeVar

from memoryos.interruptible import result

CLOSING_SECONDS = 5.0  # that closing connections may take

T = TypeVar("T")


class _CallLoop:
    """The loop of this process."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Reset the state after a fork, because the thread does not exist in the child."""
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: Thread | None = None

    def running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                # A daemon: at the end of the program nobody waits for a model.
                self._thread = Thread(target=self._loop.run_forever, name="memoryos-models", daemon=True)
                self._thread.start()
            return self._loop

    @property
    def has_begun(self) -> bool:
        """Whether there was a call in this process."""
        return self._loop is not None

    @property
    def is_here(self) -> bool:
        """Whether the caller is on the loop's own thread."""
        return self._thread is not None and self._thread.ident == get_ident()


_calls = _CallLoop()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_calls.forget)


def start(call: Coroutine[Any, Any, T]) -> Future[T]:
    """Start the call; cancelling the future cancels it."""
    return asyncio.run_coroutine_threadsafe(call, _calls.running())


def result_of(call: Coroutine[Any, Any, T]) -> T:
    """Return the result of the call or raise its error; an interrupted wait cancels the call."""
    future = start(call)
    try:
        return result(future)
    finally:
        future.cancel()


def finish(call: Coroutine[Any, Any, None]) -> None:
    """Wait for the call to end, except on the loop's own thread, where a garbage collection may call this."""
    if not _calls.has_begun:
        call.close()  # without a call nothing is open
        return
    future = start(call)
    if not _calls.is_here:
        future.exception(CLOSING_SECONDS)
