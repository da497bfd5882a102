"""Workers on PostgreSQL: nobody waits for an owner, and only a job that is due rings."""

from __future__ import annotations

from datetime import timedelta
from threading import Event

import pytest

from contract import server
from memoryos.infrastructure.vault.records import JobKind
from memoryos.scope import Scope

ALICE, BOB = Scope(user="alice"), Scope(user="bob", tenant="other")
LEASE = timedelta(seconds=60)
SOON = 60.0  # seconds; nobody waits that long when all is well
BRIEF = 0.25


@pytest.fixture
def enqueue(vault, store):
    """enqueue(scope, ...): a job of a new page."""

    def put(scope, **options):
        made = store(scope=scope)
        with vault.write(scope) as writer:
            writer.enqueue(JobKind.EXTRACT, [made.id], **options)
        return made.id

    return put


@pytest.fixture
def signal(vault):
    signal = vault.job_signal()
    assert signal.wait(SOON, Event()), "nobody knows what happened before it listened"
    yield signal
    signal.close()


def test_an_owner_whom_a_writer_is_at_is_passed_over(vault, enqueue, clock):
    enqueue(ALICE)
    clock.advance(seconds=1)
    page = enqueue(BOB)
    with vault.write(ALICE):
        owner, [job] = vault.claim(lasting=LEASE)
        assert (owner, job.cube_id) == (BOB, page)
        assert vault.claim(lasting=LEASE) is None
    owner, _ = vault.claim(lasting=LEASE)
    assert owner == ALICE


def test_a_change_of_the_whole_store_is_not_waited_for(vault, enqueue):
    enqueue(ALICE)
    with vault.reembedding("new"):
        assert vault.claim(lasting=LEASE) is None
    assert vault.claim(lasting=LEASE)


def test_pages_and_planned_jobs_wake_nobody(vault, signal, store, enqueue, clock):
    store("hello")
    enqueue(BOB, not_before=clock() + timedelta(days=1))
    assert not signal.wait(BRIEF, Event())


def test_a_job_that_was_due_before_is_signalled_once(vault, signal, enqueue):
    page = enqueue(BOB)
    assert signal.wait(SOON, Event())
    with vault.write(BOB) as writer:
        writer.enqueue(JobKind.EXTRACT, [page])
    assert not signal.wait(BRIEF, Event())


def test_a_signal_whose_connection_was_cut_listens_again(url, signal, enqueue):
    assert server.cut_connections(url.database)
    assert signal.wait(SOON, Event()), "nobody knows what happened meanwhile"
    assert not signal.wait(BRIEF, Event())
    enqueue(ALICE)
    assert signal.wait(SOON, Event())


def test_a_server_that_is_away_makes_the_wait_no_longer(url, signal):
    with server.administrator() as connection:
        connection.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS false')
        server.cut_connections(url.database)
        assert not signal.wait(BRIEF, Event())
        connection.execute(f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS true')
    assert signal.wait(SOON, Event())
