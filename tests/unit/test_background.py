"""Background: work beside the callers that lets them go first, but not for ever."""

from __future__ import annotations

import logging
import threading
import time

import pytest

from memoryos.operation.scheduler import background
from memoryos.operation.scheduler.background import Background

LONG = 300.0  # seconds; nobody here waits that long
SOON = 60.0
QUIET = 1.0


@pytest.fixture
def quiet(monkeypatch):
    """A pause of 0.2 s counts as quiet, so that a slow machine does not take a step for one."""
    monkeypatch.setattr(background, "QUIET_SECONDS", 0.2)


def test_tasks_run_one_after_the_other_in_the_order_given():
    worker, done = Background("test"), []
    for number in range(50):
        worker.submit(lambda number=number: done.append(number))
    worker.wait()
    assert done == list(range(50))
    worker.close()


def test_a_task_lets_a_call_pass(quiet):
    worker, begun = Background("test", LONG), threading.Event()
    with worker.call():
        worker.submit(begun.set)
        assert not begun.wait(0.5)
    assert begun.wait(SOON)
    worker.close()


def test_calls_that_follow_closely_are_let_pass_too(monkeypatch):
    monkeypatch.setattr(background, "QUIET_SECONDS", QUIET)  # twenty times as long as they are apart
    worker, begun, end = Background("test", LONG), threading.Event(), time.monotonic() + 1.2 * QUIET
    with worker.call():
        worker.submit(begun.set)
    while time.monotonic() < end:
        time.sleep(0.05)
        with worker.call():
            pass
    assert not begun.is_set()
    assert begun.wait(SOON)
    worker.close()


def test_what_waited_long_enough_waits_no_more(quiet):
    worker, begun = Background("test", 0.1), threading.Event()
    with worker.call():
        worker.submit(begun.set)
        assert begun.wait(SOON)
    worker.close()


def test_who_waits_for_a_task_is_not_kept_waiting(quiet):
    worker, done = Background("test", LONG), []
    with worker.call():
        worker.submit(lambda: done.append(1))
        worker.wait()
        assert done == [1]
        worker.submit(lambda: done.append(2))
        worker.close()
        assert done == [1, 2]


def test_a_long_task_gives_way_between_its_steps(quiet):
    worker, steps, called = Background("test", LONG), [], threading.Event()

    def task() -> None:
        steps.append("first")
        called.wait(SOON)
        worker.give_way()
        steps.append("second")

    worker.submit(task)
    while not steps:
        time.sleep(0.01)
    with worker.call():
        called.set()
        time.sleep(0.5)
        assert steps == ["first"]
    worker.wait()
    assert steps == ["first", "second"]
    worker.close()


def test_an_error_is_told_once_to_who_waits_and_no_word_of_it_is_logged(caplog):
    worker = Background("test")

    def fail() -> None:
        raise ValueError("my secret")

    with caplog.at_level(logging.ERROR):
        worker.submit(fail)
        with pytest.raises(ValueError, match="my secret"):
            worker.wait()
    worker.wait()
    worker.close()
    assert "my secret" not in caplog.text


def test_tasks_that_tasks_give_are_waited_for():
    worker, done = Background("test"), []
    worker.submit(lambda: worker.submit(lambda: done.append("inner")))
    worker.wait()
    assert done == ["inner"]
    worker.close()


def test_at_the_end_of_a_program_a_task_that_goes_on_and_on_runs_to_its_end():
    background, done = Background("test"), []
    background.close()  # no thread can start any more

    def step() -> None:
        done.append(len(done))
        if len(done) < 5_000:
            background.submit(step)

    background.submit(step)
    assert len(done) == 5_000
