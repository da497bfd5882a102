"""Limits of model calls: so many at once, so many a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from memoryos.models.limits import Limits

SOON = 60.0


def calls(limits: Limits, count: int, call: Callable[[], None]) -> None:
    """So many calls from threads of their own."""

    def limited() -> None:
        with limits.call():
            call()

    threads = [threading.Thread(target=limited) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    assert not any(thread.is_alive() for thread in threads)


class Room:
    """Counts who is inside."""

    def __init__(self) -> None:
        self.inside = self.most = self.visits = 0
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            self.inside += 1
            self.visits += 1
            self.most = max(self.most, self.inside)
        time.sleep(0.002)
        with self._lock:
            self.inside -= 1


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_never_more_are_in_flight(at_once):
    room = Room()
    calls(Limits(at_once), 40, room)
    assert room.most <= at_once
    assert room.visits == 40


@pytest.mark.parametrize("at_once", [2, 5])
def test_so_many_may_be_in_flight(at_once):
    all_in = threading.Barrier(at_once, timeout=SOON)
    calls(Limits(at_once), at_once, all_in.wait)
    assert not all_in.broken


def test_calls_begin_evenly_spaced_from_any_thread():
    began, lock, pause = [], threading.Lock(), 0.03

    def note() -> None:
        with lock:
            began.append(time.monotonic())

    first = time.monotonic()
    calls(Limits(4, per_minute=60 / pause), 6, note)
    assert max(began) - first >= 5 * pause
    assert all(moment - first >= place * pause for place, moment in enumerate(sorted(began)))


def test_a_pause_is_not_saved_up():
    limits, pause = Limits(1, per_minute=60 / 0.05), 0.05
    with limits.call():
        pass
    time.sleep(3 * pause)
    before = time.monotonic()
    with limits.call():
        pass
    with limits.call():
        assert time.monotonic() - before >= pause


def test_without_a_rate_nobody_waits():
    limits = Limits(1)
    for _ in range(1000):
        with limits.call():
            pass
    assert limits._wait() == 0.0


def test_a_call_that_fails_leaves_its_place():
    limits = Limits(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="failed"), limits.call():
            raise ValueError("failed")
    calls(limits, 1, lambda: None)


def test_a_stream_that_nobody_reads_to_its_end_leaves_its_place():
    limits = Limits(1)

    def stream():
        with limits.call():
            yield "first"
            yield "second"

    pieces = stream()
    assert next(pieces) == "first"
    pieces.close()
    calls(limits, 1, lambda: None)
