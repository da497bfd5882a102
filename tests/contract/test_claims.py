"""Workers that share the jobs: each takes an owner whom nobody is at, and a signal tells when there may be work."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Event, Timer

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.scope import Scope

LEASE = timedelta(seconds=60)
SOON = 60.0  # seconds; nobody waits that long when all is well
BRIEF = 0.25

USERS = [Scope(user=name, tenant=tenant) for tenant in ("acme", "wok") for name in ("ann", "ben", "小红")]


@pytest.fixture
def enqueue(vault, entry):
    """enqueue(scope, count): so many jobs of new pages of the scope."""
    made = []

    def put(scope, count=1, **options):
        names = [f"page-{len(made) + number}" for number in range(count)]
        made.extend(names)
        with vault.write(scope) as writer:
            writer.insert([entry(id=name, scope=scope) for name in names])
            writer.enqueue(JobKind.EXTRACT, names, **options)
        return names

    return put


def claim(vault, limit=9):
    """Whose jobs were claimed, and of which pages; they are finished."""
    claimed = vault.claim(lasting=LEASE, limit=limit)
    return (claimed[0], [job.cube_id for job in claimed[1]]) if claimed else None


def finish(vault, owner, jobs):
    with vault.write(owner) as writer:
        for job in jobs:
            writer.finish(job)


def test_of_an_empty_store_nothing_is_claimed(vault):
    assert vault.claim(lasting=LEASE) is None


def test_owners_are_claimed_once_each_the_one_that_waits_longest_first(vault, enqueue, clock):
    wanted = []
    for scope in reversed(USERS):
        wanted.append((scope, enqueue(scope, 2)))
        clock.advance(seconds=1)
    assert [claim(vault) for _ in USERS] == wanted
    assert claim(vault) is None


@pytest.mark.parametrize("known", [None, {"extract", "digest"}])
def test_to_claim_makes_no_statement_anew(vault, enqueue, known):
    """To put one together takes longer than to run it."""
    [ann, *_] = USERS
    enqueue(ann, 2)
    vault.known_jobs, made = known, []

    def note(_connection, statement, *_):
        made.append(str(statement))

    event.listen(Engine, "before_execute", note)
    try:
        owner, jobs = vault.claim(lasting=LEASE, limit=9, early=["extract"])
    finally:
        event.remove(Engine, "before_execute", note)
    assert (owner, len(jobs)) == (ann, 2)
    assert [statement for statement in made if "FROM jobs" in statement] == []


def test_who_knows_no_kind_claims_nothing(vault, enqueue):
    [ann, *_] = USERS
    enqueue(ann, 2)
    vault.known_jobs = frozenset()
    assert (vault.waiting(), claim(vault)) == ([], None)
    with vault.write(ann) as writer:
        assert writer.lease(lasting=LEASE) == []


def test_what_is_claimed_is_a_lease_like_any_other(vault, enqueue, clock):
    [ann, *_] = USERS
    first, second, third = enqueue(ann, 3)
    owner, jobs = vault.claim(lasting=LEASE, limit=2)
    assert (owner, [job.cube_id for job in jobs]) == (ann, [first, second])
    assert {(job.state, job.attempts) for job in jobs} == {(JobState.LEASED, 1)}
    with vault.write(ann) as writer:
        assert writer.lease(lasting=LEASE) == [], "one worker at a time, in order"
    assert vault.claim(lasting=LEASE) is None
    finish(vault, owner, jobs)
    assert claim(vault) == (ann, [third])


def test_jobs_that_are_not_due_are_not_claimed_but_as_companions(vault, enqueue, clock):
    [ann, ben, *_] = USERS
    later = enqueue(ann, not_before=clock() + timedelta(hours=1))
    assert claim(vault) is None
    now = enqueue(ann)
    enqueue(ben, not_before=clock() + timedelta(hours=1))
    owner, jobs = vault.claim(lasting=LEASE, limit=9, early=[JobKind.EXTRACT])
    assert (owner, [job.cube_id for job in jobs]) == (ann, [*now, *later])
    assert claim(vault) is None


def test_what_a_dead_worker_held_is_claimed_when_its_lease_has_ended(vault, enqueue, clock):
    [ann, *_] = USERS
    names = enqueue(ann)
    assert claim(vault) == (ann, names)
    clock.advance(seconds=LEASE.total_seconds())
    assert claim(vault) is None
    clock.advance(seconds=1)
    _, [job] = vault.claim(lasting=LEASE)
    assert job.attempts == 2


def test_workers_that_claim_at_once_get_different_owners_and_every_job_is_done_once(vault, enqueue):
    owners = [Scope(user=f"user-{number}") for number in range(24)]
    wanted = [(owner, name) for owner in owners for name in enqueue(owner, 3)]
    together, done = Barrier(4), []

    def work(_number=0):
        while claimed := vault.claim(lasting=LEASE, limit=2):
            owner, jobs = claimed
            done.extend((owner, job.cube_id) for job in jobs)  # while nobody else has one of that owner
            finish(vault, owner, jobs)

    with ThreadPoolExecutor(4, initializer=lambda: together.wait(SOON)) as pool:
        list(pool.map(work, range(4)))
    work()  # an owner that another was at is not waited for
    assert len(done) == len(wanted)
    assert set(done) == set(wanted)
    for owner in owners:
        mine = [name for other, name in done if other == owner]
        assert mine == [name for other, name in wanted if other == owner], "in order"


# The signal


@pytest.fixture
def signal(vault):
    """A signal that has told what was to be heard before."""
    signal = vault.job_signal()
    while signal.wait(BRIEF, Event()):
        pass
    yield signal
    signal.close()


def test_it_is_silent_while_nothing_happens(signal):
    assert not signal.wait(BRIEF, Event())


def test_it_signals_a_job_that_is_due(signal, enqueue):
    timer = Timer(0.1, enqueue, [USERS[0]])
    timer.start()
    assert signal.wait(SOON, Event())
    timer.join()


def test_it_signals_what_happened_between_two_waits(signal, enqueue):
    enqueue(USERS[0])
    assert signal.wait(SOON, Event())
    assert not signal.wait(BRIEF, Event())


def test_it_signals_a_job_that_was_hastened_given_back_or_raised_from_the_dead(vault, signal, enqueue, clock):
    [ann, *_] = USERS
    names = enqueue(ann, not_before=clock() + timedelta(hours=1))
    signal.wait(BRIEF, Event())
    with vault.write(ann) as writer:
        writer.enqueue(JobKind.EXTRACT, names)
    assert signal.wait(SOON, Event())
    _, [job] = vault.claim(lasting=LEASE)
    signal.wait(BRIEF, Event())
    with vault.write(ann) as writer:
        writer.release(job)
    assert signal.wait(SOON, Event())
    _, [job] = vault.claim(lasting=LEASE)
    with vault.write(ann) as writer:
        writer.fail(job, "no", retry_at=None)
    signal.wait(BRIEF, Event())
    with vault.write(ann) as writer:
        writer.retry([job.id])
    assert signal.wait(SOON, Event())


def test_what_was_rolled_back_wakes_nobody(vault, signal, entry):
    with pytest.raises(KeyboardInterrupt), vault.write(USERS[0]) as writer:
        writer.insert([entry(id="page", scope=USERS[0])])
        writer.enqueue(JobKind.EXTRACT, ["page"])
        raise KeyboardInterrupt
    assert not signal.wait(BRIEF, Event())


def test_a_stop_ends_the_wait(signal):
    stop = Event()
    timer = Timer(0.1, stop.set)
    timer.start()
    assert not signal.wait(SOON, stop)
    timer.join()


def test_it_may_be_closed_twice(signal):
    signal.close()
    left = dict(vars(signal))
    signal.close()
    assert vars(signal) == left
