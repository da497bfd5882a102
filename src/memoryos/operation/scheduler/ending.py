"""Ending: a call that continues in its own thread when its caller stops waiting."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread


class Ending:
    """A call that runs in a thread; the end of the program waits for it."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._future: Future[None] = Future()
        Thread(target=copy_context().run, args=(self._run, call), name="memoryos-ending").start()

    def comes_within(self, seconds: float | None) -> bool:
        """Whether the call returns within so many seconds (None: wait without limit). Raises its exception."""
        done, _ = futures.wait([self._future], seconds)
        if done:
            self._future.result()
        return bool(done)

    def _run(self, call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - who waits gets it
            self._future.set_exception(error)
        else:
            self._future.set_result(None)
