"""SIGKILL of the whole server, again and again: what was acknowledged is never lost, the rest can be repeated."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Thread

import psutil
import psycopg
import pytest
from sqlalchemy.engine import make_url

import memoryos
from contract import server
from memoryos import Memory
from memoryos.errors import StoreUnreachable
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Kind
from memoryos.models.hashing import Hashing

SAFE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "log_min_messages": "fatal"}
CRASHES = 3
SOME = 15  # pages acknowledged between two crashes
LONG = 60.0  # seconds, after which a test has failed


@pytest.fixture(scope="module")
def own_server():
    """A server as it is set up by default, which nobody else uses."""
    started = server.start(SAFE)
    with psycopg.connect(started.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {server.ROLE} LOGIN")
        connection.execute(f"CREATE DATABASE memories OWNER {server.ROLE}")
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    return started


def kill(own_server):
    """End every process of the server at once, as a crash of the machine does."""
    postmaster = psutil.Process(own_server.get_pid())
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)  # none of them can still write while the others end
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs(processes, LONG)


@dataclass
class Teller:
    """Adds page after page, each with a key, and repeats what was not acknowledged."""

    memory: Memory
    pages: list[str] = field(default_factory=list)  # acknowledged
    errors: list[StoreUnreachable] = field(default_factory=list)
    is_over: Event = field(default_factory=Event)

    def tell(self):
        for number in count():
            while not self.is_over.is_set() and len(self.pages) == number:
                try:
                    self.pages.append(self.memory.add(f"Told number {number}.", "Yes.", idempotency_key=str(number)))
                except StoreUnreachable as error:
                    self.errors.append(error)
                    self.is_over.wait(0.05)
            if self.is_over.is_set():
                return

    def wait_for(self, pages):
        waited = Event()
        while len(self.pages) < pages:
            assert not waited.wait(0.001) and not self.is_over.is_set()


def stored(memory):
    """The pages, each with all that belongs to it."""
    with memory._engine.vault.read(memory._scope) as reader:
        added = [event for event in reader.events(limit=100_000) if event.operation is Operation.ADD]
        pages = [event.cube_id for event in added if event.kind is Kind.PAGE]
        assert set(reader.get(pages)) == set(pages)
        passages = [(row.page, row.part) for row in reader.passages()]
    assert passages == [(page, part) for page in pages for part in (1, 2)]
    return pages


def test_a_memory_outlives_any_number_of_crashes_of_its_server(own_server):
    place = make_url(own_server.get_uri()).set(username=server.ROLE, database="memories").render_as_string()
    memory = memoryos.open(place, user="tom", embedder=Hashing())
    teller = Teller(memory)
    thread = Thread(target=teller.tell)
    thread.start()
    try:
        for _ in range(CRASHES):
            teller.wait_for(len(teller.pages) + SOME)
            kill(own_server)
            acknowledged = list(teller.pages)
            own_server.ensure_postgres_running()
            with memoryos.open(place, user="tom", embedder=Hashing()) as other:
                assert stored(other)[: len(acknowledged)] == acknowledged
        teller.wait_for(len(teller.pages) + SOME)  # the same memory goes on
    finally:
        teller.is_over.set()
        thread.join()
    assert len(teller.errors) >= CRASHES
    with suppress(StoreUnreachable):  # it says once that pages could not be moved meanwhile
        memory.wait()
    assert stored(memory) == teller.pages
    assert [page.id for page in memory.pages.list()] == teller.pages
    memory.close()
