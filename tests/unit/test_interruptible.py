"""Waiting for another thread: what it gives, what it raises, and no wait that a signal cannot end."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue

import pytest

from memoryos import interruptible


def later(call) -> None:
    threading.Timer(0.25, call).start()  # after more than one moment


def test_an_item_that_comes_later_is_received():
    queue: SimpleQueue[str] = SimpleQueue()
    later(lambda: queue.put("kite"))
    assert interruptible.received(queue) == "kite"


def test_a_result_that_comes_later_is_returned():
    future: Future[int] = Future()
    later(lambda: future.set_result(7))
    assert interruptible.result(future) == 7


@pytest.mark.parametrize("error", [ValueError("no"), TimeoutError("the model is slow")])
def test_an_error_of_the_other_thread_is_raised(error):
    future: Future[int] = Future()
    later(lambda: future.set_exception(error))
    with pytest.raises(type(error), match=str(error)):
        interruptible.result(future)


def test_a_future_that_is_cancelled_is_not_waited_for():
    future: Future[int] = Future()
    later(future.cancel)
    with pytest.raises(CancelledError):
        interruptible.result(future)
