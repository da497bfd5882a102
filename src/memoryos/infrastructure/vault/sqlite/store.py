"""SqliteVault: the vault in one SQLite file (WAL, foreign keys, full sync, one transaction per operation).

Reads run beside a write and see the state before it. Writes take the lock at BEGIN, so two of them
never deadlock; the second waits up to the busy timeout.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from memoryos.clock import Clock
from memoryos.cube import Kind, State, Tier
from memoryos.errors import (
    EmbedderMismatch,
    InvalidInput,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
)
from memoryos.infrastructure.vault import migrations, queries, tables
from memoryos.infrastructure.vault.contract import JobState
from memoryos.infrastructure.vault.queue import due, leased
from memoryos.infrastructure.vault.reembedding import EMBEDDER, SqlReembedding
from memoryos.infrastructure.vault.session import SqlReader, SqlWriter
from memoryos.infrastructure.vault.statements import ask_one
from memoryos.scope import Scope

_WRITES = "memoryos_writes"  # execution option: take the write lock at BEGIN

_ERRORS: dict[int, type[StorageError]] = {
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_CANTOPEN: StoreReadOnly,
    sqlite3.SQLITE_PERM: StoreReadOnly,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_CORRUPT: StoreCorrupt,
    sqlite3.SQLITE_NOTADB: StoreCorrupt,
}


class SqliteVault:
    """A vault in the file at `path`; `embedder` names what makes its vectors.

    None, for a store that is there already, is whatever made them: to change to another one.
    """

    def __init__(self, path: Path, *, embedder: str | None, clock: Clock, busy_timeout_seconds: float) -> None:
        self.path = path
        self._embedder = embedder
        self._clock = clock
        self._is_closed = False
        self._lock = Lock()  # threads queue here instead of polling the file lock
        self._writer: Connection | None = None  # kept, for a new one costs as much as a small transaction
        self._engine = _engine(path, busy_timeout_seconds)
        with ExitStack() as undo:
            undo.callback(self.close)
            self._prepare()
            undo.pop_all()  # usable: the store stays open

    @contextmanager
    def read(self, scope: Scope) -> Iterator[SqlReader]:
        """A snapshot of the scope's owner."""
        with self._reading() as connection:
            self._check_embedder(connection)
            yield SqlReader(connection, scope, self._clock)

    @contextmanager
    def write(self, scope: Scope) -> Iterator[SqlWriter]:
        """A transaction on the scope's owner; waits for other writers, StoreBusy when too long."""
        with self._lock, self._writing() as connection:
            self._check_embedder(connection)
            yield SqlWriter(connection, scope, self._clock)

    @contextmanager
    def reembedding(self, embedder: str) -> Iterator[SqlReembedding]:
        """A write transaction on the whole store, towards that embedder."""
        with self._lock, self._writing() as connection:
            yield SqlReembedding(connection, embedder, self._clock)

    def owners(self, tenant: str) -> list[Scope]:
        """Every scope of the tenant that holds a cube."""
        cubes = tables.cubes
        query = (
            select(cubes.c.tenant, cubes.c.user_id, cubes.c.agent_id, cubes.c.namespace)
            .where(cubes.c.tenant == tenant)
            .distinct()
            .order_by(cubes.c.user_id, cubes.c.agent_id, cubes.c.namespace)
        )
        with self._reading() as connection:
            return [tables.scope_of(*row) for row in connection.execute(query)]

    def waiting(self) -> list[Scope]:
        """The owners, of every tenant, with a job that is due or whose lease has ended, and none that is held."""
        columns = [tables.jobs.c[name] for name in tables.OWNER]
        unfinished = tables.jobs.c.state.in_([JobState.QUEUED.value, JobState.LEASED.value])
        now = self._clock()
        ready = select(*columns).where(unfinished, due(now))
        query = ready.except_(select(*columns).where(leased(now))).order_by(*tables.OWNER)
        with self._reading() as connection:
            return [tables.scope_of(*row) for row in connection.execute(query)]

    def unsettled(self) -> list[Scope]:
        """The owners, of every tenant, with pages that a process left in STM before it found their place."""
        cubes = tables.cubes
        fresh = {cubes.c.kind: Kind.PAGE, cubes.c.tier: Tier.STM, cubes.c.state: State.GENERATED}
        query = select(*(cubes.c[name] for name in tables.OWNER)).distinct()
        with self._reading() as connection:
            rows = connection.execute(query.where(*(column == value.value for column, value in fresh.items())))
            return [tables.scope_of(*row) for row in rows]

    def close(self) -> None:
        """Release the file. Calling it twice is harmless."""
        self._is_closed = True
        with self._lock:
            if self._writer:
                self._writer.close()
                self._writer = None
        self._engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self._check_open()
        with _mapped_errors(self.path), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """A write transaction; call it under the lock."""
        self._check_open()
        with _mapped_errors(self.path):
            if self._writer is None:
                self._writer = self._engine.connect().execution_options(**{_WRITES: True})
            with self._writer.begin():
                yield self._writer

    def _check_open(self) -> None:
        if self._is_closed:
            raise StorageError(f"the store {self.path} is closed; open it again")

    def _prepare(self) -> None:
        _create_private(self.path)
        with self._reading() as connection:
            ready = migrations.is_current(connection) and _recorded_embedder(connection) is not None
        self._keep_a_log()  # only now: a database that is not ours was refused, and is left as it was
        if not ready:
            with self._lock, self._writing() as connection:
                migrations.upgrade(connection)
                if self._embedder and _recorded_embedder(connection) is None:
                    connection.execute(tables.meta.insert(), {"key": EMBEDDER, "value": self._embedder})
        with self._reading() as connection:
            self._check_embedder(connection)

    def _check_embedder(self, connection: Connection) -> None:
        """Refuse to mix vectors. Each session looks anew: another process may have changed the store."""
        if self._embedder is None:
            return
        recorded = ask_one(connection, queries.EMBEDDER, {})
        if recorded != self._embedder:
            raise EmbedderMismatch(
                f"the vectors in {self.path} were made by the embedder {recorded!r}, not by {self._embedder!r}; "
                f"open it with the setting `embedder` that gives {recorded!r}"
            )

    def _keep_a_log(self) -> None:
        """Switch the file to WAL; it stays so. Outside a transaction, as SQLite demands."""
        with _mapped_errors(self.path), closing(self._engine.raw_connection()) as connection:
            connection.cursor().execute("PRAGMA journal_mode = WAL")


def _recorded_embedder(connection: Connection) -> str | None:
    return connection.execute(queries.EMBEDDER).scalar()


def _create_private(path: Path) -> None:
    """Create the file readable by its owner only; SQLite gives its WAL the same mode.

    One that exists is not touched: to close it would drop the locks that another memory of this process has on it.
    """
    if path.is_dir():
        raise InvalidInput("path", f"{path} is a folder", "Name a file in it, e.g. memory.db")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return
    except FileNotFoundError:
        raise InvalidInput("path", f"the folder {path.parent} does not exist", "Create it first") from None
    except OSError as error:
        raise _from_os(path, error) from error


def _from_os(path: Path, error: OSError) -> StorageError:
    kind = StoreFull if error.errno == 28 else StoreReadOnly  # 28: ENOSPC
    return kind(f"{path}: {error.strerror}. {kind.__doc__}")


def _engine(path: Path, busy_timeout_seconds: float) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy_timeout_seconds, "check_same_thread": False},
        hide_parameters=True,  # an error must not quote what a user said
        max_overflow=-1,  # a thread waits for SQLite's lock, not for a free connection
    )
    event.listen(engine, "connect", _configure)
    event.listen(engine, "begin", _begin)
    return engine


def _configure(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves, or DDL would commit behind our back
    connection.execute("PRAGMA synchronous = FULL")  # durable when add() returns, power cut included
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # deleted text is overwritten, not only unlinked


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _mapped_errors(path: Path) -> Iterator[None]:
    """Turn the driver's errors into ours; the driver's stays as the cause."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        driver = error.orig if isinstance(error, DBAPIError) else error
        code = getattr(driver, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code
        kind = _ERRORS.get(code, StorageError)
        raise kind(f"{path}: {driver}. {kind.__doc__}") from error
