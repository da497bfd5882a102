from __future__ import annotations

from datetime import timedelta

import pytest

from hierarchy.work import calls_in
from memoryos.errors import LeaseLost
from memoryos.infrastructure.vault.records import JobKind, JobState
from memoryos.operation.hierarchy.recent import is_asked_for
from memoryos.scope import Scope

ALICE = Scope(user="alice")
LEASE = timedelta(minutes=1)


@pytest.fixture
def enqueue(vault, clock):
    def put(*cube_ids, **how):
        with vault.write(ALICE) as writer:
            writer.enqueue(JobKind.EXTRACT, cube_ids, **how)

    return put


@pytest.fixture
def lease(vault):
    def take():
        with vault.write(ALICE) as writer:
            return next(iter(writer.lease(lasting=LEASE)), None)

    return take


@pytest.fixture
def finish(vault):
    def end(job):
        with vault.write(ALICE) as writer:
            writer.finish(job)

    return end


@pytest.fixture
def fail(vault):
    def end(job, error="no", *, retry_at=None):
        with vault.write(ALICE) as writer:
            writer.fail(job, error, retry_at=retry_at)

    return end


@pytest.fixture
def jobs(vault):
    def of(*states):
        with vault.read(ALICE) as reader:
            return reader.jobs(*states)

    return of


def test_what_is_asked_for_is_what_waits_and_what_is_being_done(store, enqueue, lease, finish, jobs, vault, clock):
    first, second, third = (store().cube.id for _ in range(3))
    for cube_id in (first, second, third):
        enqueue(cube_id, priority=1)
        clock.advance(seconds=1)
    finish(lease())
    taken = lease()
    with vault.read(ALICE) as reader:
        asked = reader.asked()
    assert [(job.kind, job.cube_id, job.priority) for job in asked] == [
        (JobKind.EXTRACT, second, 1),
        (JobKind.EXTRACT, third, 1),
    ]
    assert [job.id for job in asked] == [job.id for job in jobs(JobState.QUEUED, JobState.LEASED)]
    assert taken.id == asked[0].id


def test_jobs_of_several_cubes_and_of_the_scope_are_each_merged_with_their_own(store, vault, jobs):
    first, second = (store().cube.id for _ in range(2))
    with vault.write(ALICE) as writer:
        made = writer.enqueue(JobKind.EXTRACT, [first, None, second])
        again = writer.enqueue(JobKind.EXTRACT, [second, None], priority=2)
        other = writer.enqueue(JobKind.REPAIR, [second])
    assert set(again) < set(made)
    assert not set(other) & set(made)
    assert {job.cube_id: job.priority for job in jobs() if job.kind == JobKind.EXTRACT} == {
        first: 0,
        None: 2,
        second: 2,
    }


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


def test_jobs_are_leased_in_the_order_they_came(store, enqueue, lease, finish, clock):
    for name in ("z", "a", "m"):
        enqueue(store(id=name).cube.id)
        clock.advance(seconds=1)
    for name in ("z", "a", "m"):
        job = lease()
        assert job.cube_id == name
        finish(job)
    assert lease() is None


def test_jobs_of_one_moment_keep_their_order(vault, store, enqueue):
    names = [store(id=name).cube.id for name in "zamkb"]
    enqueue(*names)
    with vault.write(ALICE) as writer:
        assert [job.cube_id for job in writer.lease(lasting=LEASE, limit=4)] == names[:4]


def test_while_a_worker_holds_a_job_of_the_scope_nobody_else_gets_one(vault, store, enqueue, lease, finish):
    enqueue(store(id="a").cube.id, store(id="b").cube.id)
    with vault.write(Scope(user="bob")) as writer:
        assert writer.lease(lasting=LEASE) == []
    first = lease()
    assert lease() is None
    finish(first)
    assert lease().cube_id == "b"


def test_the_highest_priority_goes_first_and_waiting_jobs_can_be_raised(store, enqueue, lease, finish):
    enqueue(*(store(id=name).cube.id for name in "abc"))
    enqueue("c", priority=2)
    enqueue("b", priority=1)
    enqueue("b", priority=0)
    for name in "cba":
        job = lease()
        assert job.cube_id == name
        finish(job)


def test_a_job_waits_until_its_time_and_can_be_hastened_not_delayed(store, enqueue, lease, finish, jobs, clock):
    later = clock() + timedelta(hours=2)
    enqueue(store(id="a").cube.id, not_before=later)
    assert jobs()[0].not_before == later
    assert lease() is None
    enqueue("a", not_before=later + timedelta(hours=1))
    clock.advance(hours=2)
    finish(lease())
    enqueue(store(id="b").cube.id, not_before=clock() + timedelta(hours=1))
    enqueue("b")
    assert lease().cube_id == "b"


def test_a_failed_job_is_not_hastened_by_new_work(store, enqueue, lease, fail, clock):
    enqueue(store(id="a").cube.id)
    fail(lease(), retry_at=clock() + timedelta(minutes=5))
    enqueue("a")
    assert lease() is None
    clock.advance(minutes=5)
    assert lease().attempts == 2


def test_a_failed_job_that_is_asked_for_anew_begins_at_once(store, enqueue, lease, fail, jobs, clock):
    enqueue(store(id="a").cube.id)
    fail(lease(), retry_at=clock() + timedelta(minutes=5))
    enqueue("a", anew=True)
    (job,) = jobs()
    assert (job.attempts, job.error, job.not_before) == (0, None, None)
    assert lease().attempts == 1
    enqueue("a", anew=True)  # what runs goes on
    assert jobs()[0].state is JobState.LEASED


def test_the_latest_job_of_a_payload_is_found_in_any_state(enqueue, lease, finish, fail, vault, clock):
    def latest(*payloads, kind=JobKind.EXTRACT):
        with vault.read(ALICE) as reader:
            return reader.latest_job(kind, payloads)

    me, you = {"name": "me"}, {"name": 'das Gedächtnis "你"', "keeps": True}
    assert latest(me) is None
    for payload in (me, you, me):
        enqueue(None, payload=payload)
        clock.advance(seconds=1)
    finish(lease())
    assert latest(me).state is JobState.DONE
    enqueue(None, payload=me)
    fail(lease(), "no memory")
    assert (latest(you).error, latest(you).state) == ("no memory", JobState.DEAD)
    assert latest(me).state is JobState.QUEUED  # the second one
    assert latest(you, me).payload == me
    assert latest({"name": "m"}) is latest(me, kind=JobKind.TRAIN) is latest() is None


@pytest.mark.parametrize("limit", [1, 5])
def test_jobs_with_damaged_payloads_are_set_aside_and_the_others_taken(enqueue, jobs, vault, clock, limit):
    for number in range(4):
        enqueue(None, payload={"number": number})
        clock.advance(seconds=1)
    with vault.change() as connection:
        damaged = """UPDATE jobs SET payload = 'zebra' WHERE payload IN ('{"number": 0}', '{"number": 2}')"""
        connection.exec_driver_sql(damaged)
    taken = []
    with vault.write(ALICE) as writer:
        while some := writer.lease(lasting=LEASE, limit=limit):
            taken += [job.payload["number"] for job in some]
            for job in some:
                writer.finish(job)
    assert taken == [1, 3]
    assert [(job.payload, "zebra" in job.error) for job in jobs(JobState.DEAD)] == [(None, False)] * 2
    with vault.write(ALICE) as writer:
        assert writer.retry([job.id for job in jobs(JobState.DEAD)]) == 2
        assert writer.lease(lasting=LEASE) == []
    assert len(jobs(JobState.DEAD)) == 2


@pytest.mark.parametrize("kind", [JobKind.ERASE, JobKind.EXPIRE])
def test_what_is_damaged_where_a_kind_has_no_payload_ends_no_erasure(lease, vault, kind):
    with vault.write(ALICE) as writer:
        writer.enqueue(kind)
    with vault.change() as connection:
        connection.exec_driver_sql("UPDATE jobs SET payload = 'zebra'")
    assert (taken := lease())
    assert (taken.kind, taken.payload) == (kind, None)


def test_a_job_that_waits_for_its_next_try_lets_others_pass(store, enqueue, lease, fail, clock):
    enqueue(store(id="a").cube.id, store(id="b").cube.id)
    fail(lease(), retry_at=clock() + timedelta(minutes=5))
    assert lease().cube_id == "b"


def test_a_job_that_failed_comes_alone_so_that_it_harms_no_other(vault, store, enqueue, lease, fail, finish, clock):
    enqueue(*(store(id=name).cube.id for name in "abc"))
    fail(lease(), retry_at=clock())
    with vault.write(ALICE) as writer:
        [alone] = writer.lease(lasting=LEASE, limit=9)
    assert alone.cube_id == "a"
    finish(alone)
    with vault.write(ALICE) as writer:
        assert [job.cube_id for job in writer.lease(lasting=LEASE, limit=9)] == ["b", "c"]


def test_a_job_that_is_given_back_is_as_it_was(vault, store, enqueue, lease, fail, jobs, clock):
    enqueue(store(id="a").cube.id)
    fail(lease(), "no", retry_at=clock() + timedelta(minutes=5))
    [before] = jobs()
    clock.advance(minutes=5)
    taken = lease()
    with vault.write(ALICE) as writer:
        writer.release(taken)
    assert jobs() == [before]
    assert lease() == taken
    clock.advance(hours=1)
    lease()
    with pytest.raises(LeaseLost), vault.write(ALICE) as writer:
        writer.release(taken)


def test_a_lease_can_be_extended_by_its_holder_only(vault, store, enqueue, lease, clock):
    enqueue(store().cube.id)
    job = lease()
    clock.advance(seconds=50)
    with vault.write(ALICE) as writer:
        writer.extend(job, lasting=LEASE)
    clock.advance(seconds=50)
    assert lease() is None
    clock.advance(seconds=20)
    assert lease().attempts == 2
    with pytest.raises(LeaseLost), vault.write(ALICE) as writer:
        writer.extend(job, lasting=LEASE)


def test_a_clock_that_ran_ahead_holds_no_job_back(store, enqueue, lease, fail, clock):
    enqueue(store(id="a").cube.id, store(id="b").cube.id, not_before=clock() + timedelta(days=5000))
    clock.advance(days=5000)
    lease()
    clock.advance(days=-5000)
    again = lease()
    assert again.attempts == 2
    fail(again, retry_at=clock() + timedelta(days=5000))
    assert {lease().cube_id} <= {"a", "b"}


def test_a_time_that_somebody_asked_for_counts_unless_the_clock_ran_ahead_then(store, enqueue, lease, vault, clock):
    enqueue(store(id="a").cube.id, not_before=clock() + timedelta(days=5000))
    assert (lease(), vault.waiting()) == (None, [])
    clock.advance(days=2000)
    enqueue(store(id="b").cube.id, not_before=clock() + timedelta(days=5000))
    clock.advance(days=-2000)
    assert vault.waiting() == [ALICE]
    assert lease().cube_id == "b"


def test_the_store_tells_which_owners_have_work_that_is_due(vault, store, enqueue, lease, finish, clock):
    assert vault.waiting() == []
    enqueue(store(id="a").cube.id, not_before=clock() + timedelta(hours=1))
    assert vault.waiting() == []
    clock.advance(hours=1)
    assert vault.waiting() == [ALICE]
    job = lease()
    assert vault.waiting() == []
    clock.advance(minutes=2)
    assert vault.waiting() == [ALICE]
    finish(job)
    assert vault.waiting() == []


def test_an_owner_whose_jobs_another_worker_does_has_no_work_for_us(vault, store, enqueue, lease, finish):
    enqueue(store(id="a").cube.id, store(id="b").cube.id)
    first = lease()
    assert vault.waiting() == []
    finish(first)
    assert vault.waiting() == [ALICE]


def test_the_next_moment_with_work_is_known(vault, store, enqueue, lease, clock):
    def next_due():
        with vault.read(ALICE) as reader:
            return reader.next_due()

    assert next_due() is None
    enqueue(store(id="a").cube.id, not_before=clock() + timedelta(hours=3))
    assert next_due() == clock() + timedelta(hours=3)
    enqueue(store(id="b").cube.id)
    assert next_due() == clock()
    lease()
    assert next_due() == clock() + LEASE


def test_a_job_is_not_enqueued_twice(store, enqueue, lease, jobs):
    name = store().cube.id
    enqueue(name, name)
    enqueue(name)
    assert len(jobs()) == 1
    lease()
    enqueue(name)
    assert len(jobs()) == 1


def test_after_a_job_is_done_or_dead_there_can_be_another(store, enqueue, lease, jobs, finish, fail):
    name = store().cube.id
    for end in (finish, fail):
        enqueue(name)
        end(lease())
    enqueue(name)
    assert [job.state for job in jobs()] == [JobState.DONE, JobState.DEAD, JobState.QUEUED]


def test_a_finished_job_is_not_leased_again(store, enqueue, lease, finish, jobs, clock):
    enqueue(store().cube.id)
    job = lease()
    finish(job)
    clock.advance(days=1)
    assert lease() is None
    assert [done.id for done in jobs(JobState.DONE)] == [job.id]


def test_a_failed_job_goes_back_with_its_cause_until_its_next_try(store, enqueue, lease, fail, jobs, clock):
    enqueue(store().cube.id)
    fail(lease(), "ValueError: 'x'", retry_at=clock() + timedelta(seconds=30))
    [waiting] = jobs(JobState.QUEUED)
    assert (waiting.error, waiting.attempts) == ("ValueError: 'x'", 1)
    assert waiting.not_before == clock() + timedelta(seconds=30)
    assert lease() is None
    clock.advance(seconds=30)
    assert lease().attempts == 2


def test_a_dead_job_is_kept_with_its_cause_and_left_alone(store, enqueue, lease, fail, jobs, clock):
    enqueue(store().cube.id)
    fail(lease(), "three times")
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
        writer.lease(lasting=LEASE)
        raise KeyboardInterrupt
    assert lease().attempts == 1


def test_a_dead_job_that_is_tried_again_starts_anew_and_keeps_its_cause_meanwhile(vault, store, enqueue, lease, jobs):
    enqueue(store().cube.id)
    job = lease()
    with vault.write(ALICE) as writer:
        writer.fail(job, "no model", retry_at=None)
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
        writer.fail(job, "no", retry_at=None)
        assert writer.retry([other.id for other in jobs(JobState.QUEUED)] + ["nobody's"]) == 0
    with vault.write(Scope(user="bob")) as writer:
        assert writer.retry([job.id]) == 0
    assert [dead.id for dead in jobs(JobState.DEAD)] == [job.id]


def test_companions_are_of_the_same_kind_whatever_waits_before_them(vault, store, clock, enqueue):
    later = clock() + timedelta(days=1)
    page, first, second = (store(text).cube.id for text in ("page", "first", "second"))
    with vault.write(ALICE) as writer:
        writer.enqueue(JobKind.READ_RECENT, [page], not_before=later)
    enqueue(second, not_before=later)
    enqueue(first)
    with vault.write(ALICE) as writer:
        taken = writer.lease(lasting=LEASE, limit=9, early=[JobKind.EXTRACT])
    assert [job.cube_id for job in taken] == [first, second]


def test_a_job_is_taken_and_added_without_reading_the_others(vault):
    """All jobs of the owner were read, under the lock: 10,000 took longer than a step may."""

    def take():
        with vault.write(ALICE) as writer:
            (job,) = writer.lease(lasting=LEASE)
            writer.release(job)

    def add():
        with vault.write(ALICE) as writer:
            writer.enqueue("own", payload={"number": 0})

    def ask():
        with vault.write(ALICE) as writer:
            assert not is_asked_for(writer)

    costs = []
    for numbers in (range(20), range(20, 200)):
        with vault.write(ALICE) as writer:
            for number in numbers:
                writer.enqueue("own", payload={"number": number})
        for work in (take, add, ask):
            work()
        costs.append([calls_in(work) for work in (take, add, ask)])
    for few, many in zip(*costs, strict=True):
        assert many < 1.2 * few
