"""A server has few connections: a process takes a bounded number, and waits when there is none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

import pytest

from contract import server
from memoryos.errors import StoreBusy
from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
from memoryos.kinds import Kind
from memoryos.models.hashing import Hashing
from memoryos.scope import Scope

ALICE = Scope(user="alice")
SOON = 60.0  # seconds; nobody waits that long when all is well


@pytest.fixture
def narrow(url, clock):
    """narrow(connections, patience): a vault of so many threads at once."""
    opened = []

    def call(connections=2, *, patience=SOON, where=url):
        options = {"embedder": Hashing.name, "clock": clock, "busy_timeout_seconds": patience}
        opened.append(PostgresVault("the store", where, **options, connections=connections))
        return opened[-1]

    yield call
    for vault in opened:
        vault.close()


def connections(url) -> int:
    with server.administrator() as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND usename = %s"
        return connection.execute(query, [url.database, server.ROLE]).fetchone()[0]


def pages(vault, scope=ALICE):
    with vault.read(scope) as reader:
        return reader.cubes(Kind.PAGE)


def test_many_threads_share_a_few_connections_and_all_come_through(narrow, url, entry):
    vault, seen = narrow(2), []

    def write(number):
        scope = Scope(user=f"user-{number % 5}")
        with vault.write(scope) as writer:
            writer.insert([entry(id=f"page-{number}", scope=scope)])
            seen.append(connections(url))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(write, range(40)))
    assert sum(len(pages(vault, Scope(user=f"user-{number}"))) for number in range(5)) == 40
    assert max(seen) == 2
    assert connections(url) <= 2


def test_a_thread_that_is_in_opens_a_second_session_though_all_are_taken(narrow):
    vault, together = narrow(3), Barrier(3)

    def nested():
        with vault.read(ALICE):
            together.wait(SOON)  # nobody has a second one yet, and nobody leaves
            return pages(vault)

    with ThreadPoolExecutor(3) as pool:
        assert [future.result(SOON) for future in [pool.submit(nested) for _ in range(3)]] == [[], [], []]


def test_who_finds_all_taken_for_too_long_is_told_so_and_comes_in_later(narrow):
    vault, inside, leave = narrow(1, patience=0.1), Event(), Event()

    def stay():
        with vault.read(ALICE):
            inside.set()
            leave.wait(SOON)

    other = Thread(target=stay)
    other.start()
    assert inside.wait(SOON)
    with pytest.raises(StoreBusy, match="all 1 connections"):
        pages(vault)
    leave.set()
    other.join()
    assert pages(vault) == []


def test_an_error_inside_leaves_room_for_the_next(narrow):
    vault = narrow(1, patience=0.1)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), vault.read(ALICE):
            raise KeyboardInterrupt
    assert pages(vault) == []


@pytest.fixture
def crowded(url):
    """The URL of a role that may have one connection."""
    with server.administrator(url.database) as connection:
        connection.execute("CREATE ROLE crowded LOGIN CONNECTION LIMIT 1")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO crowded")
    yield url.set(username="crowded")
    server.cut_connections(url.database)
    with server.administrator(url.database) as connection:
        connection.execute("DROP OWNED BY crowded; DROP ROLE crowded")


def test_a_server_that_has_no_connection_left_is_busy_and_not_gone(narrow, crowded):
    vault = narrow(2, patience=0.2, where=crowded)
    with vault.read(ALICE), pytest.raises(StoreBusy, match="too many connections"), vault.read(ALICE):
        pass
    assert pages(vault) == []


def test_who_waits_gets_the_connection_that_becomes_free(narrow, crowded):
    first = narrow(1, where=crowded)
    with first.read(ALICE):
        waiting = ThreadPoolExecutor(1)
        second = waiting.submit(narrow, 1, where=crowded)
        with pytest.raises(TimeoutError):
            second.result(0.5)
    first.close()
    assert pages(second.result(SOON)) == []
    waiting.shutdown()
