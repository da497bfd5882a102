"""The timer: calls for each scope once, at the earliest time it was set to, and not after its end."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from memoryos.operation.scheduler import scope_timer as timer_module
from memoryos.operation.scheduler.scope_timer import ScopeTimer
from memoryos.scope import Scope

ANN, BEN = Scope(user="ann"), Scope(user="ben")
SOON = 60.0  # seconds; nobody waits that long when all is well
NEVER = 3600.0


class Calls:
    """Remembers which scopes were called back, and when."""

    def __init__(self) -> None:
        self.made: list[tuple[Scope, float]] = []
        self._news = threading.Condition()

    def __call__(self, scope: Scope) -> None:
        with self._news:
            self.made.append((scope, time.monotonic()))
            self._news.notify_all()

    def wait(self, count: int) -> list[Scope]:
        """The scopes that were called back, when there are so many."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.made) >= count, SOON)
            return [scope for scope, _ in self.made]


@pytest.fixture
def calls():
    return Calls()


@pytest.fixture
def timer(calls):
    timer = ScopeTimer(calls)
    yield timer
    timer.close()


def test_it_calls_back_not_before_its_time(timer, calls):
    began = time.monotonic()
    timer.set(ANN, 0.1)
    assert calls.wait(1) == [ANN]
    assert calls.made[0][1] - began >= 0.1


def test_the_earliest_calls_back_first(timer, calls):
    timer.set(ANN, 1.0)
    timer.set(BEN, 0.05)
    assert calls.wait(2) == [BEN, ANN]


def test_the_earliest_time_of_a_scope_counts_and_calls_back_once(timer, calls):
    with timer._calling:  # nobody is called between two of them
        timer.set(ANN, NEVER)
        timer.set(ANN, 0.05)
        timer.set(ANN, 0.15)
        timer.set(BEN, 1.0)
    assert calls.wait(2) == [ANN, BEN]


def test_a_time_longer_than_a_thread_can_wait_is_waited_for_in_parts(timer, calls, monkeypatch):
    broken = []
    monkeypatch.setattr(threading, "excepthook", broken.append)
    timer.set(BEN, 1e12)
    monkeypatch.setattr(timer_module, "LONGEST_WAIT", 0.02)
    began = time.monotonic()
    timer.set(ANN, 0.2)
    assert calls.wait(1) == [ANN]
    assert calls.made[0][1] - began >= 0.2
    assert broken == []


def test_what_has_rung_can_be_set_again(timer, calls):
    for count in range(1, 4):
        timer.set(ANN, 0.01)
        assert calls.wait(count) == [ANN] * count


def test_a_time_that_has_passed_calls_back_now(timer, calls):
    timer.set(ANN, -5)
    assert calls.wait(1) == [ANN]


def test_it_can_be_set_while_it_rings():
    rung, done = [], threading.Event()

    def call(scope):
        rung.append(scope)
        timer.set(scope, 0.0)
        if len(rung) == 3:
            done.set()

    timer = ScopeTimer(call)
    timer.set(ANN, 0.0)
    assert done.wait(SOON)
    timer.close()


def test_many_scopes_set_by_many_threads_ring_once_each(timer, calls):
    scopes = [Scope(user=str(number)) for number in range(200)]

    def set_all() -> None:
        for number, scope in enumerate(scopes):
            timer.set(scope, 1.0 + number % 7 / 100)  # all are set before the first calls

    threads = [threading.Thread(target=set_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    calls.wait(len(scopes))
    timer.set(ANN, 0.1)
    assert Counter(calls.wait(len(scopes) + 1)) == Counter([*scopes, ANN])


def test_after_its_end_it_is_silent(calls):
    timer = ScopeTimer(calls)
    with timer._calling:  # nobody is called before its end
        timer.set(ANN, 0.05)
        timer.close()
    timer.set(BEN, 0.0)
    time.sleep(0.2)
    assert calls.made == []
    timer.close()


def test_its_end_waits_for_the_ring_that_runs_and_lets_no_other_follow():
    calls, leave, rung = threading.Event(), threading.Event(), []

    def call(scope):
        calls.set()
        assert leave.wait(SOON)
        rung.append(scope)

    timer = ScopeTimer(call)
    timer.set(ANN, 0.05)
    timer.set(BEN, 0.05)
    assert calls.wait(SOON)
    ending = threading.Thread(target=timer.close)
    ending.start()
    ending.join(0.2)
    assert ending.is_alive(), "what calls may still use what its owner releases next"
    leave.set()
    ending.join(SOON)
    assert len(rung) == 1
    time.sleep(0.1)
    assert len(rung) == 1


def test_a_later_time_of_another_scope_starts_no_thread(timer, calls):
    timer.set(ANN, 30.0)
    waiting = {one.ident for one in threading.enumerate()}
    timer.set(BEN, 60.0)
    assert {one.ident for one in threading.enumerate()} <= waiting


def test_it_keeps_no_thread_when_nothing_is_set(calls):
    before = threading.active_count()
    timer = ScopeTimer(calls)
    timer.set(ANN, 0.0)
    calls.wait(1)
    deadline = time.monotonic() + SOON
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() <= before  # one of the test before may have ended
    timer.close()
