from __future__ import annotations

from datetime import timedelta

import pytest

from memoryos.infrastructure.vault.contract import JobKind, JobState
from memoryos.scope import Scope

ALICE = Scope(user="alice")
LEASE = timedelta(minutes=1)


@pytest.fixture
def enqueue(vault, clock):
    def put(*cube_ids):
        with vault.write(ALICE) as writer:
            writer.enqueue(JobKind.EXTRACT, cube_ids)

    return put


@pytest.fixture
def lease(vault, clock):
    def take():
        with vault.write(ALICE) as writer:
            return writer.lease(until=clock() + LEASE)

    return take


@pytest.fixture
def jobs(vault):
    def of(*states):
        with vault.read(ALICE) as reader:
            return reader.jobs(*states)

    return of


def test_a_job_waits_until_it_is_leased(store, enqueue, lease, jobs, clock):
    enqueue(store(id="a").cube.id)
    [job] = jobs()
    assert (job.cube_id, job.kind, job.state, job.attempts) == ("a", JobKind.EXTRACT, JobState.QUEUED, 0)
    assert job.created_at == clock()
    leased = lease()
    assert (leased.id, leased.state, leased.attempts) == (job.id, JobState.LEASED, 1)
    assert jobs(JobState.QUEUED) == []
    assert jobs(JobState.LEASED) == [leased]


def test_without_a_job_there_is_no_lease(lease):
    assert lease() is None


def test_jobs_are_leased_in_the_order_they_came(store, enqueue, lease, clock):
    for name in ("z", "a", "m"):
        enqueue(store(id=name).cube.id)
        clock.advance(seconds=1)
    assert [lease().cube_id for _ in range(3)] == ["z", "a", "m"]
    assert lease() is None


def test_jobs_of_one_moment_keep_their_order(store, enqueue, lease):
    names = [store(id=name).cube.id for name in "zamkb"]
    enqueue(*names)
    assert [lease().cube_id for _ in names] == names


def test_a_job_is_not_enqueued_twice(store, enqueue, lease, jobs):
    name = store().cube.id
    enqueue(name, name)
    enqueue(name)
    assert len(jobs()) == 1
    lease()
    enqueue(name)
    assert len(jobs()) == 1


def test_after_a_job_is_done_or_dead_there_can_be_another(vault, store, enqueue, lease, jobs):
    name = store().cube.id
    for end in (lambda writer, job: writer.finish(job), lambda writer, job: writer.fail(job, "no", dead=True)):
        enqueue(name)
        job = lease()
        with vault.write(ALICE) as writer:
            end(writer, job)
    enqueue(name)
    assert [job.state for job in jobs()] == [JobState.DONE, JobState.DEAD, JobState.QUEUED]


def test_a_finished_job_is_not_leased_again(vault, store, enqueue, lease, jobs, clock):
    enqueue(store().cube.id)
    job = lease()
    with vault.write(ALICE) as writer:
        writer.finish(job)
    clock.advance(days=1)
    assert lease() is None
    assert [done.id for done in jobs(JobState.DONE)] == [job.id]


def test_a_failed_job_goes_back_with_its_cause(vault, store, enqueue, lease, jobs):
    enqueue(store().cube.id)
    job = lease()
    with vault.write(ALICE) as writer:
        writer.fail(job, "ValueError: 'x'", dead=False)
    [waiting] = jobs(JobState.QUEUED)
    assert (waiting.error, waiting.attempts) == ("ValueError: 'x'", 1)
    assert lease().attempts == 2


def test_a_dead_job_is_kept_with_its_cause_and_left_alone(vault, store, enqueue, lease, jobs, clock):
    enqueue(store().cube.id)
    job = lease()
    with vault.write(ALICE) as writer:
        writer.fail(job, "three times", dead=True)
    clock.advance(days=1)
    assert lease() is None
    assert [dead.error for dead in jobs(JobState.DEAD)] == ["three times"]


def test_a_lease_holds_until_it_ends_by_the_clock(store, enqueue, lease, clock):
    enqueue(store().cube.id)
    job = lease()
    clock.advance(seconds=LEASE.total_seconds())
    assert lease() is None
    clock.advance(seconds=1)
    again = lease()
    assert (again.id, again.attempts) == (job.id, 2)


def test_a_lease_that_is_rolled_back_was_never_taken(vault, store, enqueue, lease, clock):
    enqueue(store().cube.id)
    with pytest.raises(KeyboardInterrupt), vault.write(ALICE) as writer:
        writer.lease(until=clock() + LEASE)
        raise KeyboardInterrupt
    assert lease().attempts == 1


def test_a_dead_job_that_is_tried_again_starts_anew_and_keeps_its_cause_meanwhile(vault, store, enqueue, lease, jobs):
    enqueue(store().cube.id)
    job = lease()
    with vault.write(ALICE) as writer:
        writer.fail(job, "no model", dead=True)
        assert writer.retry([job.id, job.id]) == 1
    [waiting] = jobs(JobState.QUEUED)
    assert (waiting.id, waiting.attempts, waiting.error) == (job.id, 0, "no model")
    again = lease()
    with vault.write(ALICE) as writer:
        writer.finish(again)
    assert [(done.id, done.error) for done in jobs(JobState.DONE)] == [(job.id, None)]


def test_only_a_dead_job_of_the_scope_is_tried_again(vault, store, enqueue, lease, jobs):
    enqueue(store(id="a").cube.id, store(id="b").cube.id)
    job = lease()
    with vault.write(ALICE) as writer:
        writer.fail(job, "no", dead=True)
        assert writer.retry([other.id for other in jobs(JobState.QUEUED)] + ["nobody's"]) == 0
    with vault.write(Scope(user="bob")) as writer:
        assert writer.retry([job.id]) == 0
    assert [dead.id for dead in jobs(JobState.DEAD)] == [job.id]
