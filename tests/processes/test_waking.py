"""Workers are woken by a job of another process, and outlive the store's bad times."""

from __future__ import annotations

import time
from contextlib import contextmanager
from threading import Event, Thread

import pytest

import memoryos
from contract import server
from memoryos import MemoryOS, load_settings
from memoryos.infrastructure.vault.records import JobState
from public import store_of

RARELY = 3_600.0  # seconds between two looks without a bell
SOON = 120.0  # nobody waits that long when all is well
SETTINGS = load_settings(embedder="hashing", jobs="worker", short_term_capacity=1, heat_threshold=0)


@pytest.fixture
def memory(place):
    with memoryos.open(place, user="ann", settings=SETTINGS) as opened:
        yield opened


@contextmanager
def working(place):
    """A worker on the store meanwhile; gives the list of what it returned."""
    stop, finished = Event(), []
    with MemoryOS.open(place, settings=SETTINGS) as other:
        thread = Thread(
            target=lambda: finished.append(store_of(other).admin.work(stop, threads=2, poll_seconds=RARELY))
        )
        thread.start()
        try:
            yield finished
        finally:
            stop.set()
            thread.join()


def talk(memory):
    for said in ("I have two cats, Miso and Nori.", "I live in Porto.", "I work as a nurse.", "Good night."):
        memory.add(said, "I see.")
    memory.wait()  # the pages have moved, and their segments ask to be read


def done(memory) -> int:
    return len(memory.jobs.list(JobState.DONE))


def await_jobs(memory, count):
    deadline = time.monotonic() + SOON
    while done(memory) < count:
        assert time.monotonic() < deadline, "it never woke"
        time.sleep(0.02)


def test_a_worker_at_rest_is_woken_by_a_job_of_another_memory(memory, place):
    with working(place) as finished:
        time.sleep(0.5)  # it has found nothing, and rests
        talk(memory)
        await_jobs(memory, 1)
    assert finished[0] >= 1


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_worker_outlives_a_restart_of_the_server(memory, place):
    with working(place) as finished:
        talk(memory)
        await_jobs(memory, 1)
        server.restart()
        before = done(memory)
        talk(memory)
        await_jobs(memory, before + 1)
    assert finished[0] >= 2
