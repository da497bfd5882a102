"""A connection that is cut in the commit: what was stored is found out, and told."""

from __future__ import annotations

from threading import Thread, Timer

import pytest

import memoryos
from contract import server
from memoryos import load_settings
from memoryos.errors import OutcomeUnknown, StoreBusy, StoreUnreachable
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Kind
from memoryos.models.hashing import Hashing
from memoryos.scope import Scope
from postgres.proxy import Cut, Proxy

ALICE = Scope(user="alice")
KEY = "message-17"
SAID = ("I keep bees.", "How many hives?")

either = pytest.mark.parametrize("delivered", [False, True], ids=["before the server got it", "after"])


@pytest.fixture
def wire(url):
    with Proxy(url) as proxy:
        yield proxy


@pytest.fixture
def memory(wire, clock):
    with memory_on(wire, clock) as opened:
        opened.stats()  # the pool has a connection
        yield opened


def memory_on(wire, clock, **settings):
    knobs = load_settings(**settings)
    place = wire.url.render_as_string()
    return memoryos.open(place, user="alice", settings=knobs, embedder=Hashing(), clock=clock)


def assert_there_once(memory, *pages):
    """The pages are there with all that belongs to each, and nothing else."""
    memory.wait()
    assert [cube.id for cube in memory.pages.list()] == list(pages)
    with memory._engine.vault.read(ALICE) as reader:
        assert [(row.page, row.part) for row in reader.passages()] == [
            (page, part) for page in pages for part in (1, 2)
        ]
    added = [event.cube_id for event in memory.log.events() if event.operation is Operation.ADD]
    assert added == list(pages)


@either
def test_the_vault_says_that_it_does_not_know(open_vault, wire, entry, delivered):
    vault = open_vault(wire.url)
    wire.cut_commit(Cut(delivered))
    with pytest.raises(OutcomeUnknown, match="may have happened"), vault.write(ALICE) as writer:
        writer.insert([entry("bees")])
    assert wire.is_done
    with vault.read(ALICE) as reader:
        assert reader.census().of(Kind.PAGE) == delivered


@either
@pytest.mark.parametrize("key", [None, KEY])
def test_an_add_finds_out_and_stores_it_once(memory, wire, delivered, key):
    wire.cut_commit(Cut(delivered))
    page = memory.add(*SAID, idempotency_key=key)
    assert wire.is_done
    assert_there_once(memory, page)
    assert_there_once(memory, page, memory.add(*SAID))


@either
def test_an_add_that_cannot_find_out_says_so_and_may_be_repeated_with_its_key(memory, wire, delivered):
    wire.cut_commit(Cut(delivered))
    wire.is_away = True
    with pytest.raises(OutcomeUnknown, match=r"may have happened.*safe with the same idempotency_key"):
        memory.add(*SAID, idempotency_key=KEY)
    wire.is_away = False
    page = memory.add(*SAID, idempotency_key=KEY)
    assert_there_once(memory, page)


def test_an_add_that_is_cut_twice_may_be_repeated_with_its_key(memory, wire):
    wire.cut_commit(Cut(delivered=False))
    wire.cut_commit(Cut(delivered=True))
    with pytest.raises(OutcomeUnknown):
        memory.add(*SAID, idempotency_key=KEY)
    assert wire.is_done
    assert_there_once(memory, memory.add(*SAID, idempotency_key=KEY))


def wait_for_a_waiting_writer():
    with server.administrator() as connection:
        asked = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while not connection.execute(asked).fetchall():
            pass


def test_another_process_that_adds_the_same_between_the_two_tries_wins(memory, wire, clock, url):
    with memoryos.open(url.render_as_string(), user="alice", embedder=Hashing(), clock=clock) as other:
        added = []
        racer = Thread(target=lambda: added.append(other.add(*SAID, idempotency_key=KEY)))

        def start_the_other():
            racer.start()
            wait_for_a_waiting_writer()

        wire.cut_commit(Cut(delivered=False, before=start_the_other))
        page = memory.add(*SAID, idempotency_key=KEY)
        racer.join()
    assert added == [page]
    assert_there_once(memory, page)


def test_a_second_try_waits_until_the_server_has_ended_the_first(memory, wire):
    cut = Cut(delivered=False, lingering=True)
    wire.cut_commit(cut)
    Timer(0.3, cut.notice.set).start()
    assert_there_once(memory, memory.add(*SAID))
    assert cut.notice.is_set()


def test_a_second_try_waits_no_longer_than_told(wire, clock):
    cut = Cut(delivered=False, lingering=True)
    with memory_on(wire, clock, busy_timeout_seconds=0.2) as memory:
        wire.cut_commit(cut)
        with pytest.raises(OutcomeUnknown) as caught:
            memory.add(*SAID, idempotency_key=KEY)
        assert isinstance(caught.value.__cause__, StoreBusy)
        cut.notice.set()
    with memory_on(wire, clock) as memory:
        assert_there_once(memory, memory.add(*SAID, idempotency_key=KEY))


def test_a_server_that_is_away_before_the_write_began_is_no_doubt(memory, wire, url):
    wire.is_away = True
    wire.hang_up()
    with pytest.raises(StoreUnreachable, match="nothing was written") as caught:
        memory.add(*SAID)
    assert not isinstance(caught.value, OutcomeUnknown)
    wire.is_away = False
    assert_there_once(memory, memory.add(*SAID))
