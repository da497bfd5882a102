"""What is said when the server does not do it: a clear error, nothing half-written, and work again afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from time import sleep

import pytest
from sqlalchemy import text

import forked
import memoryos
from contract import server
from memoryos.errors import (
    InvalidInput,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from memoryos.infrastructure.vault.patience import in_one_call, patience
from memoryos.infrastructure.vault.place import database_url, shown
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.kinds import Kind
from memoryos.models.hashing import Hashing
from memoryos.scope import Scope

ALICE = Scope(user="alice")
BOB = Scope(user="bob")
PASSWORD = "hunter2-geheim"
TESTS = Path(__file__).parents[1]


def pages(vault, scope=ALICE):
    with vault.read(scope) as reader:
        return [cube.id for cube in reader.cubes(Kind.PAGE)]


def test_a_connection_cut_in_a_write_leaves_nothing_and_the_next_one_works(vault, url, store, entry):
    stored = store()
    with pytest.raises(StoreUnreachable), vault.write(ALICE) as writer:
        writer.insert([entry("unwanted")])
        server.cut_connections(url.database)
        writer.insert([entry("unwanted, too")])
    assert pages(vault) == [stored.id]
    assert store("again").id in pages(vault)


def test_a_connection_cut_before_the_commit_leaves_nothing(vault, url, store, entry):
    stored = store()
    with pytest.raises(StoreUnreachable), vault.write(ALICE) as writer:
        writer.insert([entry("unwanted")])
        server.cut_connections(url.database)
    assert pages(vault) == [stored.id]


def test_a_connection_cut_in_a_read_says_so(vault, url, store):
    stored = store()
    with pytest.raises(StoreUnreachable), vault.read(ALICE) as reader:
        server.cut_connections(url.database)
        reader.cubes(Kind.PAGE)
    assert pages(vault) == [stored.id]


def test_connections_that_were_cut_while_idle_are_replaced_unseen(vault, url, store):
    stored = store()
    with vault.read(ALICE), vault.read(ALICE):  # several in the pool
        pass
    assert server.cut_connections(url.database) >= 2
    assert pages(vault) == [stored.id]
    store("and a write")


def test_a_server_that_restarts_in_mid_write_loses_that_write_alone(vault, store, entry):
    stored = store()
    with pytest.raises(StoreUnreachable), vault.write(ALICE) as writer:
        writer.insert([entry("unwanted")])
        server.restart()
        writer.insert([entry("unwanted, too")])
    assert pages(vault) == [stored.id]
    again = store("again")
    assert pages(vault) == [stored.id, again.id]


def test_a_process_killed_in_mid_write_leaves_nothing_and_holds_nobody_up(vault, tmp_path, store):
    stored = store()
    program = (
        "import os, sys, pathlib\n"
        "from contract.back_ends import BACK_ENDS\n"
        "from memoryos.clock import system_clock\n"
        "from memoryos.cube import Kind\n"
        "from memoryos.scope import Scope\n"
        "vault = BACK_ENDS['postgres'](pathlib.Path(sys.argv[1]), system_clock)\n"
        "with vault.write(Scope(user='alice')) as writer:\n"
        "    writer.delete([cube.id for cube in writer.cubes(Kind.PAGE)])\n"
        "    assert writer.events()[-1].operation == 'delete'\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([forked.executable(), "-c", program, str(tmp_path)], cwd=TESTS, capture_output=True)
    assert done.returncode == -9, done.stderr
    again = store("again")
    assert pages(vault) == [stored.id, again.id]


def test_owners_do_not_wait_for_each_other(vault, entry):
    with vault.write(ALICE) as first:
        first.insert([entry("alice's")])
        with vault.write(BOB) as second:
            second.insert([entry("bob's", scope=BOB)])
        assert len(pages(vault, BOB)) == 1


def test_a_change_of_the_whole_store_waits_for_every_writer_and_they_for_it(open_vault, vault):
    impatient = open_vault(patience=0.05)
    with vault.write(ALICE), pytest.raises(StoreBusy), impatient.reembedding("new"):
        pass
    with vault.reembedding("new"), pytest.raises(StoreBusy), impatient.write(BOB):
        pass
    with vault.reembedding("new"):
        assert pages(impatient) == []  # readers wait for nobody


def test_a_writer_that_waits_does_so_no_longer_than_told(open_vault, vault):
    with vault.write(ALICE), pytest.raises(StoreBusy), open_vault(patience=0).write(ALICE):
        pass


def until_somebody_waits_in(database):
    wanted = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    with server.administrator() as connection:
        while connection.execute(wanted, [database]).fetchone() == (0,):
            sleep(0.01)


def test_two_locks_of_a_writer_share_what_it_may_wait(open_vault, vault, url):
    """That of the whole store, and then that of the owner."""
    waiting, is_held = open_vault(patience=60), Event()

    def hold():
        with vault.reembedding("new"):
            is_held.set()
            until_somebody_waits_in(url.database)
            sleep(0.4)

    def left():
        with waiting._writing(ALICE) as connection:
            server_has = connection.execute(
                text("SELECT extract(epoch FROM current_setting('lock_timeout')::interval)")
            )
            return float(server_has.scalar_one()), patience(60).left

    other = Thread(target=hold)
    other.start()
    is_held.wait()
    for_the_second, for_what_follows = in_one_call(left)
    other.join()
    assert 0 < for_the_second < 59.9
    assert 0 < for_what_follows < 59.9


def test_two_budgets_are_never_looked_at_at_once(vault, clock):
    order, started = [], Event()

    def ask():
        started.set()
        with vault.write(BOB) as writer:
            writer.spent_by_all(clock().date())
            order.append("second")

    with vault.write(ALICE) as writer:
        writer.spent_by_all(clock().date())
        other = Thread(target=ask)
        other.start()
        started.wait()
        other.join(0.2)
        order.append("first")
    other.join()
    assert order == ["first", "second"]


def test_an_error_quotes_nothing_that_a_user_said(vault, store):
    secret = store("my darkest secret", id="secret-id")
    broken = text("INSERT INTO cubes (tenant, id, document) VALUES ('default', 'x', :document)")
    with pytest.raises(StorageError) as caught, vault.write(ALICE) as writer:
        writer._connection.execute(broken, {"document": secret.text})
    seen, error = [], caught.value
    while error:  # what a log shows of it
        seen.append(str(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert "null value" in seen[0]
    assert not any("darkest" in message for message in seen)


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("53100", StoreFull),
        ("40P01", StoreBusy),
        ("23503", StoreCorrupt),
        ("23505", StoreCorrupt),
        ("53300", StoreBusy),
        ("25006", StoreReadOnly),
        ("42501", StoreReadOnly),
        ("57P01", StoreUnreachable),
        ("08006", StoreUnreachable),
        ("22012", StorageError),
    ],
)
def test_what_the_server_says_becomes_one_of_our_errors(vault, state, kind):
    raising = text(f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END $$")
    with pytest.raises(StorageError) as caught, vault.write(ALICE) as writer:
        writer._connection.execute(raising)
    assert type(caught.value) is kind


def test_a_role_that_may_not_write_is_told_so(url, vault, store, open_vault):
    stored = store()
    with server.administrator(url.database) as connection:
        connection.execute("DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest")
        guest = open_vault(url.set(username="guest"))
        assert pages(guest) == [stored.id]
        with pytest.raises(StoreReadOnly, match="role"), guest.write(ALICE) as writer:
            writer.link([Link(stored.id, LinkKind.CHAIN, stored.id)])
        guest.close()
        place = url.set(username="guest").render_as_string()
        with memoryos.open(place, user="alice", embedder=Hashing()) as memory:  # has no visits to write in the end
            assert [hit.cube.id for hit in memory.search("hello").hits] == [stored.id]
            with pytest.raises(StoreReadOnly, match="role"):
                memory.add("I keep bees.")
        connection.execute("DROP OWNED BY guest; DROP ROLE guest")


def test_a_server_that_is_not_there_is_named_without_the_password():
    for url in (
        f"postgresql://tom:{PASSWORD}@127.0.0.1:1/memories",
        f"postgresql://tom@127.0.0.1:1/memories?password={PASSWORD}",
    ):
        with pytest.raises(StoreUnreachable, match=r"postgresql://tom@127\.0\.0\.1:1/memories") as caught:
            memoryos.open(url, user="tom", embedder=Hashing())
        assert PASSWORD not in repr(caught.value) + repr(caught.value.__cause__)
        assert "?." not in str(caught.value)


def test_a_database_or_a_role_that_is_not_there_is_named(url):
    for wrong, name in ((url.set(database="nowhere"), "nowhere"), (url.set(username="nobody"), "nobody")):
        with pytest.raises(StoreUnreachable, match=name):
            memoryos.open(wrong.render_as_string(), user="tom", embedder=Hashing())


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://tom:{PASSWORD}@host/db",
        f"postgresql://tom:{PASSWORD}@host",
        f"postgresql://tom:{PASSWORD}@host/",
        f"postgresql://tom:{PASSWORD}@host:port/db",
        f"://{PASSWORD}",
        "postgresql://",
    ],
)
def test_a_url_that_is_none_says_how_to_write_it(url):
    with pytest.raises(InvalidInput, match=r"path: .*postgresql://user") as caught:
        memoryos.open(url, user="tom")
    assert PASSWORD not in str(caught.value)
    assert caught.value.field == "path"


def test_a_url_is_shown_without_what_nobody_should_see():
    url = database_url(f"postgresql://tom:{PASSWORD}@host:5433/db?sslmode=require&password={PASSWORD}")
    assert shown(url) == "postgresql://tom@host:5433/db"


def test_without_the_driver_the_extra_is_named():
    program = (
        "import sys; sys.modules['psycopg'] = None\nimport memoryos\nmemoryos.open('postgresql://host/db', user='tom')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "pip install 'memoryos-engine[postgres]'" in done.stderr.splitlines()[-1]
