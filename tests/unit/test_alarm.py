"""The alarm: rings for each scope once, at the earliest time it was set to, and not after its end."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from memoryos.operation.scheduler import alarm as alarm_module
from memoryos.operation.scheduler.alarm import Alarm
from memoryos.scope import Scope

ANN, BEN = Scope(user="ann"), Scope(user="ben")
SOON = 60.0  # seconds; nobody waits that long when all is well
NEVER = 3600.0


class Bell:
    """Remembers what rang, and when."""

    def __init__(self) -> None:
        self.rung: list[tuple[Scope, float]] = []
        self._news = threading.Condition()

    def __call__(self, scope: Scope) -> None:
        with self._news:
            self.rung.append((scope, time.monotonic()))
            self._news.notify_all()

    def wait(self, count: int) -> list[Scope]:
        """The scopes that rang, when there are so many."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.rung) >= count, SOON)
            return [scope for scope, _ in self.rung]


@pytest.fixture
def bell():
    return Bell()


@pytest.fixture
def alarm(bell):
    alarm = Alarm(bell)
    yield alarm
    alarm.close()


def test_it_rings_not_before_its_time(alarm, bell):
    began = time.monotonic()
    alarm.set(ANN, 0.1)
    assert bell.wait(1) == [ANN]
    assert bell.rung[0][1] - began >= 0.1


def test_the_earliest_rings_first(alarm, bell):
    alarm.set(ANN, 1.0)
    alarm.set(BEN, 0.05)
    assert bell.wait(2) == [BEN, ANN]


def test_the_earliest_time_of_a_scope_counts_and_rings_once(alarm, bell):
    alarm.set(ANN, NEVER)
    alarm.set(ANN, 0.05)
    alarm.set(ANN, 0.15)
    alarm.set(BEN, 1.0)
    assert bell.wait(2) == [ANN, BEN]


def test_a_time_longer_than_a_thread_can_wait_is_waited_for_in_parts(alarm, bell, monkeypatch):
    broken = []
    monkeypatch.setattr(threading, "excepthook", broken.append)
    alarm.set(BEN, 1e12)
    monkeypatch.setattr(alarm_module, "LONGEST_WAIT", 0.02)
    began = time.monotonic()
    alarm.set(ANN, 0.2)
    assert bell.wait(1) == [ANN]
    assert bell.rung[0][1] - began >= 0.2
    assert broken == []


def test_what_has_rung_can_be_set_again(alarm, bell):
    for count in range(1, 4):
        alarm.set(ANN, 0.01)
        assert bell.wait(count) == [ANN] * count


def test_a_time_that_has_passed_rings_now(alarm, bell):
    alarm.set(ANN, -5)
    assert bell.wait(1) == [ANN]


def test_it_can_be_set_while_it_rings():
    rung, done = [], threading.Event()

    def ring(scope):
        rung.append(scope)
        alarm.set(scope, 0.0)
        if len(rung) == 3:
            done.set()

    alarm = Alarm(ring)
    alarm.set(ANN, 0.0)
    assert done.wait(SOON)
    alarm.close()


def test_many_scopes_set_by_many_threads_ring_once_each(alarm, bell):
    scopes = [Scope(user=str(number)) for number in range(200)]

    def set_all() -> None:
        for number, scope in enumerate(scopes):
            alarm.set(scope, 1.0 + number % 7 / 100)  # all are set before the first rings

    threads = [threading.Thread(target=set_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    bell.wait(len(scopes))
    alarm.set(ANN, 0.1)
    assert Counter(bell.wait(len(scopes) + 1)) == Counter([*scopes, ANN])


def test_after_its_end_it_is_silent(bell):
    alarm = Alarm(bell)
    alarm.set(ANN, 0.05)
    alarm.close()
    alarm.set(BEN, 0.0)
    time.sleep(0.2)
    assert bell.rung == []
    alarm.close()


def test_its_end_waits_for_the_ring_that_runs_and_lets_no_other_follow():
    rings, leave, rung = threading.Event(), threading.Event(), []

    def ring(scope):
        rings.set()
        assert leave.wait(SOON)
        rung.append(scope)

    alarm = Alarm(ring)
    alarm.set(ANN, 0.05)
    alarm.set(BEN, 0.05)
    assert rings.wait(SOON)
    ending = threading.Thread(target=alarm.close)
    ending.start()
    ending.join(0.2)
    assert ending.is_alive(), "what rings may still use what its owner releases next"
    leave.set()
    ending.join(SOON)
    assert len(rung) == 1
    time.sleep(0.1)
    assert len(rung) == 1


def test_it_keeps_no_thread_when_nothing_is_set(bell):
    before = threading.active_count()
    alarm = Alarm(bell)
    alarm.set(ANN, 0.0)
    bell.wait(1)
    deadline = time.monotonic() + SOON
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before
    alarm.close()
