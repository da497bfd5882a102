"""The job runner: leases kept alive, failures tried again later and later, and stops that cost nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryos import Scope
from memoryos.clock import system_clock
from memoryos.cube import Turn
from memoryos.errors import BadAnswer, BudgetSpent, LeaseLost, ModelUnavailable
from memoryos.infrastructure.vault.records import Entry, Job, JobKind, JobState
from memoryos.kinds import Role
from memoryos.operation.scheduler import job_runner
from memoryos.operation.scheduler.job_kinds import OneByOne
from memoryos.operation.scheduler.job_runner import (
    FIRST_DELAY,
    LONGEST_DELAY,
    MOST_TRIES,
    MOST_TRIES_OUT,
    JobRunner,
    retry_at,
)
from public import store_of

from .world import ANN, START, World

BEN = Scope(user="ben")
SOON = 60.0  # seconds; nobody waits that long when all is well
SHORT = timedelta(seconds=0.6)  # of a lease
JITTER = 1.25


def job(attempts: int) -> Job:
    return Job("job", JobKind.EXTRACT, "cube", JobState.LEASED, attempts, START)


def delay(attempts: int, error: Exception) -> timedelta:
    return retry_at(job(attempts), error, START) - START


@dataclass
class Handler:
    """Does jobs as the test tells it: each is finished in a transaction of its own after `before` was called."""

    world: World
    before: Callable[[Job], None] = lambda job: None
    at_once: int = 16
    takes_early: bool = False
    seen: list[list[str]] = field(default_factory=list)

    def run(self, scope, jobs, goes_on):
        self.seen.append([job.cube_id for job in jobs])
        for number, one in enumerate(jobs):
            if not goes_on():
                return jobs[number:]
            self.before(one)
            with self.world.vault.write(scope) as writer:
                writer.finish(one)
        return []


@pytest.fixture
def vault(world):
    world.open()
    return world.vault


@pytest.fixture
def enqueue(world, vault, page):
    """enqueue(name, ...): a job for each name, about a page of that id."""

    def put(*names):
        with world.vault.write(ANN) as writer:
            writer.insert([Entry(page(id=name, scope=ANN)) for name in names])
            writer.enqueue(JobKind.EXTRACT, names)

    return put


@pytest.fixture
def stored(vault):
    """stored(): cube id, state, tries and error of each job."""

    def of(scope=ANN):
        with vault.read(scope) as reader:
            return [(one.cube_id, one.state, one.attempts, one.error) for one in reader.jobs()]

    return of


@pytest.fixture
def runner(world, vault):
    """runner(before, at_once): a runner, and its handler."""

    def make(before=lambda job: None, *, at_once=16):
        handler = Handler(world, before, at_once)
        return JobRunner(vault, {JobKind.EXTRACT: handler}, world.clock), handler

    return make


def raises(error: Exception) -> Callable[[Job], None]:
    def fail(_job):
        raise error

    return fail


# When a job is tried again


@given(st.integers(1, MOST_TRIES_OUT - 1))
def test_the_delay_is_bounded_and_jittered(attempts):
    error = ModelUnavailable("out")
    delays = [delay(attempts, error) for _ in range(20)]
    assert all(FIRST_DELAY / JITTER <= one <= LONGEST_DELAY * JITTER for one in delays)
    assert len(set(delays)) > 1


@given(st.integers(1, MOST_TRIES_OUT - 2))
def test_the_delay_grows_until_it_is_the_longest(attempts):
    error = ModelUnavailable("out")
    least_later = min(delay(attempts + 1, error) for _ in range(20))
    most_now = max(delay(attempts, error) for _ in range(20))
    assert least_later > most_now or most_now > LONGEST_DELAY / 2


@given(st.integers(1, MOST_TRIES - 1), st.integers(0, 86_400))
def test_the_time_that_a_server_asks_for_is_given(attempts, seconds):
    asked = timedelta(seconds=seconds)
    waits = delay(attempts, ModelUnavailable("busy", float(seconds)))
    assert waits >= asked
    assert waits <= max(asked, LONGEST_DELAY * JITTER)


@pytest.mark.parametrize("seconds", [10**7, 10**9, 10**15, float("9" * 400)])
def test_no_server_puts_a_job_off_for_ever(world, enqueue, runner, stored, seconds):
    enqueue("a")
    run, handler = runner(raises(ModelUnavailable("busy", float(seconds))))
    assert run.run_all(ANN) == 0
    assert len(handler.seen) == 1, "it is not tried again at once either"
    assert START < run.next_due(ANN) <= START + timedelta(days=7)


@given(st.integers(MOST_TRIES, 1000))
def test_what_failed_often_enough_is_dead(attempts):
    assert retry_at(job(attempts), BadAnswer("no"), START) is None
    if attempts >= MOST_TRIES_OUT:
        assert retry_at(job(attempts), ModelUnavailable("out", 5), START) is None
    else:
        assert retry_at(job(attempts), ModelUnavailable("out", 5), START) > START


@given(st.integers(1, 1000))
def test_a_spent_budget_kills_no_job(attempts):
    tomorrow = START + timedelta(hours=12)
    assert retry_at(job(attempts), BudgetSpent("spent", tomorrow), START) == tomorrow


def test_a_job_that_keeps_failing_is_tried_so_often_and_buried_with_its_cause(world, enqueue, runner, stored):
    enqueue("a")
    run, handler = runner(raises(BadAnswer("it was no JSON")))
    tries = 0
    while (moment := run.next_due(ANN)) is not None:
        world.clock.now = moment
        assert run.run_all(ANN) == 0
        tries += 1
        assert len(handler.seen) == tries, "no try before its time"
    assert tries == MOST_TRIES
    assert stored() == [("a", JobState.DEAD, MOST_TRIES, "BadAnswer: it was no JSON")]


def test_what_an_unknown_error_says_is_not_kept_nor_logged(enqueue, runner, stored, caplog):
    enqueue("a")
    run, _ = runner(raises(ValueError("my secret")))
    with caplog.at_level("DEBUG"):
        run.run_all(ANN)
    assert stored() == [("a", JobState.QUEUED, 1, "ValueError")]
    assert "my secret" not in caplog.text


def test_of_jobs_taken_together_those_that_were_finished_stay_so(world, enqueue, runner, stored):
    enqueue("a", "b", "c")

    def before(one):
        if one.cube_id == "b":
            raise BadAnswer("no")

    run, handler = runner(before)
    assert run.run_all(ANN) == 1
    assert [(name, state) for name, state, *_ in stored()] == [
        ("a", JobState.DONE),
        ("b", JobState.QUEUED),
        ("c", JobState.QUEUED),
    ]
    world.clock.advance(minutes=1)
    run.run_all(ANN)
    assert handler.seen == [["a", "b", "c"], ["b"], ["c"]], "each alone, so that one harms no other"


def test_a_job_that_fails_charges_none_that_did_not_run(world, vault, enqueue, stored):
    """The kind takes one job at a time, though more are leased because another kind takes sixteen."""
    enqueue("a", "b", "c", "d")
    seen = []

    def act(_scope, one):
        seen.append(one.cube_id)
        if one.cube_id == "b":
            raise BadAnswer("no")

    handlers = {JobKind.EXTRACT: OneByOne(vault, act), JobKind.REPAIR: Handler(world)}
    run = JobRunner(vault, handlers, world.clock)
    with vault.write(ANN) as writer:
        jobs = writer.lease(lasting=job_runner.LEASE, limit=16, early=[])
    assert run.run(ANN, jobs, lambda: True) == 1
    assert stored() == [
        ("a", JobState.DONE, 1, None),
        ("b", JobState.QUEUED, 1, "BadAnswer: no"),
        ("c", JobState.QUEUED, 0, None),
        ("d", JobState.QUEUED, 0, None),
    ]
    assert run.next_due(ANN) == world.clock(), "the others are due at once"
    assert run.run_all(ANN) == 2
    assert seen == ["a", "b", "c", "d"]


# Leases


@pytest.fixture
def real_clock(world, vault):
    """The clock goes on by itself: a lease ends while a test sleeps."""
    world.clock = system_clock
    world.open()
    return world.clock


@pytest.fixture
def running(world, real_clock, monkeypatch):
    """running(before): a runner of short leases by the real clock, and its handler."""
    monkeypatch.setattr(job_runner, "LEASE", SHORT)

    def make(before=lambda job: None):
        handler = Handler(world, before)
        return JobRunner(world.vault, {JobKind.EXTRACT: handler}, real_clock), handler

    return make


def states(world):
    with world.vault.read(ANN) as reader:
        return {one.cube_id: (one.state, one.attempts) for one in reader.jobs()}


def meanwhile(task: Callable[[], object], began: threading.Event) -> tuple[threading.Thread, list[object]]:
    """The task in a thread of its own, once it has begun, and a list of what it returns."""
    results: list[object] = []
    thread = threading.Thread(target=copy_context().run, args=(lambda: results.append(task()),))
    thread.start()
    assert began.wait(SOON)
    return thread, results


@pytest.mark.parametrize(("names", "long"), [("a", "a"), ("abc", "b")], ids=["alone", "behind one that is finished"])
def test_a_long_job_keeps_its_lease_and_nobody_else_gets_it(world, enqueue, running, names, long):
    enqueue(*names)
    began, enough = threading.Event(), threading.Event()

    def before(one):
        if one.cube_id == long:
            began.set()
            assert enough.wait(SOON)

    run, _ = running(before)
    other, untouched = running()
    thread, finished = meanwhile(lambda: run.run_all(ANN), began)
    for _ in range(5):
        assert not enough.wait(SHORT.total_seconds() / 2)
        assert other.run_all(ANN) == 0
    enough.set()
    thread.join()
    assert finished == [len(names)]
    assert untouched.seen == []
    assert states(world) == dict.fromkeys(names, (JobState.DONE, 1))


def test_a_lease_that_was_lost_harms_nobody(world, vault, enqueue, runner, stored):
    enqueue("a")

    def slept_too_long(one):
        """The process was asleep for an hour, and another one took its job."""
        world.clock.advance(hours=1)
        with vault.write(ANN) as writer:
            [taken] = writer.lease(lasting=job_runner.LEASE)
        with vault.write(ANN) as writer:
            writer.finish(taken)

    run, handler = runner(slept_too_long)
    assert run.run_all(ANN) == 0
    assert len(handler.seen) == 1
    assert stored() == [("a", JobState.DONE, 2, None)]


def test_a_job_that_went_with_its_memory_leaves_the_others_to_be_done(world, vault, enqueue, runner, stored):
    """As when a segment is formed anew while what it says is being read."""
    enqueue("a", "b")
    together = []

    def formed_anew(one):
        if not together:
            together.append(one)
            with vault.write(ANN) as writer:
                writer.delete(["a"])

    run, handler = runner(formed_anew)
    assert run.run_all(ANN) == 1
    assert handler.seen == [["a", "b"], ["b"]]
    assert stored() == [("b", JobState.DONE, 1, None)]


def test_an_error_after_the_lease_was_lost_is_not_held_against_the_job(world, vault, enqueue, runner, stored):
    enqueue("a")

    def lost(one):
        world.clock.advance(hours=1)
        with vault.write(ANN) as writer:
            writer.lease(lasting=job_runner.LEASE)
        raise BadAnswer("too late")

    run, _ = runner(lost)
    run.run_all(ANN)
    assert stored() == [("a", JobState.LEASED, 2, None)]
    with vault.write(ANN) as writer, pytest.raises(LeaseLost):
        writer.finish(job(1))


# Stops


def test_a_stop_between_portions_gives_jobs_back_as_they_were(world, enqueue, runner, stored):
    enqueue("a", "b", "c")
    stop = threading.Event()
    run, _ = runner(lambda one: stop.set())
    assert run.run_all(ANN, lambda: not stop.is_set()) == 1
    assert stored() == [
        ("a", JobState.DONE, 1, None),
        ("b", JobState.QUEUED, 0, None),
        ("c", JobState.QUEUED, 0, None),
    ]
    assert run.next_due(ANN) == world.clock()
    again, handler = runner()
    assert again.run_all(ANN) == 2
    assert handler.seen == [["b", "c"]], "they failed nowhere, so they still go together"


def test_however_often_a_worker_is_stopped_no_job_dies_of_it(enqueue, runner, stored):
    enqueue("a", "b")
    for _ in range(3 * MOST_TRIES_OUT):
        stop = threading.Event()
        run, _ = runner()
        looks = iter([True])
        assert run.run_all(ANN, lambda looks=looks: next(looks, False)) == 0
        assert not stop.is_set()
    run, _ = runner(raises(BadAnswer("no")))
    run.run_all(ANN)
    assert [state for _, state, *_ in stored()] == [JobState.QUEUED] * 2


def test_a_job_that_failed_keeps_its_tries_and_its_cause_when_a_worker_is_stopped(world, enqueue, runner, stored):
    enqueue("a")
    run, _ = runner(raises(BadAnswer("no")))
    run.run_all(ANN)
    world.clock.advance(minutes=1)
    looks = iter([True])
    run.run_all(ANN, lambda: next(looks, False))
    assert stored() == [("a", JobState.QUEUED, 1, "BadAnswer: no")]


# Scopes


def test_jobs_of_two_scopes_run_side_by_side(world):
    memory = world.open(jobs="worker", short_term_capacity=1, heat_threshold=0)
    both = threading.Barrier(2, timeout=SOON)

    class Meeting(Handler):
        def run(self, scope, jobs, goes_on):
            both.wait()  # breaks unless the other scope's jobs run at the same time
            return super().run(scope, jobs, goes_on)

    for scope in (ANN, BEN):
        for text in ("🍵 tea", "🚲 bike", "🌙 moon"):
            memory.of(scope).add(text)
    runner = JobRunner(world.vault, {kind: Meeting(world) for kind in JobKind}, world.clock)
    memory._engine.housekeeping._runner = runner
    assert store_of(memory).admin.work(threading.Event(), threads=2, poll_seconds=None) >= 2
    for scope in (ANN, BEN):
        assert {one.state for one in memory.of(scope).jobs.list()} == {JobState.DONE}


def test_one_scope_is_worked_on_by_one_thread_at_a_time(world):
    memory = world.open(jobs="worker", short_term_capacity=1, heat_threshold=0)
    memory.add_many([Turn(role=Role.USER, text=text) for text in ("🍵 tea", "🚲 bike", "🌙 moon", "🎲 dice")])
    inside, most = [], []

    def count(one):
        inside.append(one)
        most.append(len(inside))
        inside.remove(one)

    memory._engine.housekeeping._runner = JobRunner(
        world.vault, {kind: Handler(world, count) for kind in JobKind}, world.clock
    )
    workers = [
        threading.Thread(target=lambda: store_of(memory).admin.work(threading.Event(), threads=2, poll_seconds=None))
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(most) == {1}
    assert {one.state for one in memory.jobs.list()} == {JobState.DONE}
