"""Ending: a call that goes on in a thread of its own when who asked for it waits no longer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread


class Ending:
    """The call, from now on in a thread, which the end of the program waits for."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._future: Future[None] = Future()
        Thread(target=copy_context().run, args=(self._run, call), name="memoryos-ending").start()

    def comes_within(self, seconds: float | None) -> bool:
        """Whether it has returned after so many seconds; None waits as long as it takes. Raises what it raised."""
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
