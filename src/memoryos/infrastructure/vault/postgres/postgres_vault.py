"""PostgresVault: the vault in a PostgreSQL database, for many processes on many machines.

A reader sees the snapshot of its first statement. Writers of one owner queue on an advisory lock; those of other
owners work beside them. An owner's events and positions are numbered under that lock, so they become visible in the
order of their numbers: who follows the log with `sequence > last` misses nothing. What concerns the whole store (the
schema, another embedder) waits for every writer, and they for it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, event, func, select
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from memoryos.clock import Clock
from memoryos.config import CONNECTIONS
from memoryos.errors import (
    IdTaken,
    InvalidInput,
    OutcomeUnknown,
    StorageError,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from memoryos.infrastructure.vault import migrations, postgres_tables
from memoryos.infrastructure.vault.fence import Call, Calls, enclosing, lock_number
from memoryos.infrastructure.vault.patience import patience
from memoryos.infrastructure.vault.postgres import scrubbing
from memoryos.infrastructure.vault.postgres.connections import (
    LESS_LOCK_TIMEOUT,
    ThreadLimit,
    begun,
    is_full,
    lock_timeout,
    open_engine,
)
from memoryos.infrastructure.vault.postgres.home import search_path
from memoryos.infrastructure.vault.postgres.notifications import PostgresJobSignal
from memoryos.infrastructure.vault.scrubbed import Scrubbed
from memoryos.infrastructure.vault.sql_vault import EVERY_TENANT, SqlVault
from memoryos.infrastructure.vault.tables import owner_row
from memoryos.progress import Progress
from memoryos.scope import Scope

_ERRORS: dict[str, type[StorageError]] = {  # by SQLSTATE or its class
    "55P03": StoreBusy,  # lock_timeout
    "40": StoreBusy,  # a deadlock or the like: the transaction was rolled back
    "53300": StoreBusy,  # too many connections
    "25006": StoreReadOnly,  # a standby
    "42501": StoreReadOnly,  # the role lacks a privilege
    "53100": StoreFull,
    "23": StoreCorrupt,  # our statements keep the constraints where rows and indexes agree
    "XX001": StoreCorrupt,
    "XX002": StoreCorrupt,
    "08": StoreUnreachable,
    "57P": StoreUnreachable,  # shut down, crashed, or still starting
}

_UNIQUE = "23505"

_LONGEST_PAUSE = "5min"  # between two statements of a writer; a machine that vanished must not hold its owner for ever

_STORE = lock_number("store")  # writers share it; who changes the whole store holds it alone
_CHAIN = lock_number("audit")  # who adds to the store's chain of the audit log holds it alone; writers go on
_LOCK, _SHARED_LOCK = "pg_catalog.pg_advisory_xact_lock(%s)", "pg_catalog.pg_advisory_xact_lock_shared(%s)"
_TRIED_LOCK = "pg_catalog.pg_try_advisory_xact_lock(%s)"
_TRIED_SHARED_LOCK = "pg_catalog.pg_try_advisory_xact_lock_shared(%s)"


class PostgresVault(SqlVault):
    """A vault in the database at `url`; `name` is what errors call it."""

    driver_error = psycopg.Error
    unerased = (
        "dead rows, until the server vacuums them, and samples in its statistics: run `memoryos scrub`",
        "write-ahead logs, base backups and replicas of the server: let them run out, or make them anew",
    )

    def __init__(
        self,
        name: str,
        url: URL,
        *,
        embedder: str | None,
        clock: Clock,
        busy_timeout_seconds: float,
        connections: int = CONNECTIONS,
        is_only_read: bool = False,
    ) -> None:
        engine = open_engine(url, kept=connections, most=busy_timeout_seconds)
        event.listen(engine, "checkin", self._take_back)
        if is_only_read:
            engine = engine.execution_options(postgresql_readonly=True)
        self._search_path: str | None = None  # asked for by the first transaction
        self._gate = ThreadLimit(name, connections)
        self._readers = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._most = busy_timeout_seconds  # that a call waits
        super().__init__(name, engine, embedder=embedder, clock=clock, is_only_read=is_only_read)

    def pages_at_once(self, most: int) -> int:
        """Half as many, because each row of a server costs twice as much."""
        return max(1, most // 2)

    def nbytes(self) -> int:
        """The size of the database on disk."""
        with self._reading(EVERY_TENANT) as connection:
            return int(connection.execute(select(func.pg_database_size(func.current_database()))).scalar_one())

    def scrub(self, progress: Progress | None = None) -> Scrubbed:
        """Rewrite all our tables with fresh statistics and request a checkpoint, as far as the role is allowed to."""
        before = self.nbytes()
        waiting = patience(self._most)
        with self._usable(), self._gate.passed(waiting):
            settings = {"search_path": self._home(), "lock_timeout": lock_timeout(waiting)}
            done, refused = scrubbing.scrub(self._engine, settings, progress)
        return Scrubbed(done, refused, before, self.nbytes())

    def _take_back(self, connection: psycopg.Connection, _record: object) -> None:
        """Close a connection that was in use when the store was closed, because the pool no longer has it."""
        if self._is_closed:
            connection.close()

    @contextmanager
    def transaction(self, tenant: str, *, alone: str | None = None, **settings: str) -> Iterator[Connection]:
        """A transaction of one tenant on what is derived from the vault; one at a time of those `alone` by a name."""
        locks: Calls = [(_LOCK, (lock_number(alone),))] if alone else []
        with self._begun(self._engine, [*enclosing(tenant, **settings), *locks]) as (connection, _):
            yield connection
            connection.commit()

    def number_after(self, connection: Connection, sequence: int) -> None:
        """Make the next event number higher than that."""
        numbers = func.pg_get_serial_sequence("events", "sequence")
        connection.execute(select(func.setval(numbers, sequence)))

    @contextmanager
    def _reading(self, tenant: str | None) -> Iterator[Connection]:
        with self._begun(self._readers, enclosing(tenant)) as (connection, _):
            yield connection

    @contextmanager
    def _writing(self, owner: Scope) -> Iterator[Connection]:
        locks = (_SHARED_LOCK, (_STORE,)), (LESS_LOCK_TIMEOUT, ()), (_LOCK, (_of(owner),))
        with self._changing(owner.tenant, *locks) as (connection, _):
            yield connection

    @contextmanager
    def _trying(self, owner: Scope) -> Iterator[Connection | None]:
        locks = (_TRIED_SHARED_LOCK, (_STORE,)), (_TRIED_LOCK, (_of(owner),))
        with self._changing(owner.tenant, *locks) as (connection, answers):
            yield connection if all(answers[-len(locks) :]) else None

    def job_signal(self) -> PostgresJobSignal:
        """Open the listener for due jobs; close it after use."""
        return PostgresJobSignal(self._engine)

    @contextmanager
    def _rewriting(self) -> Iterator[Connection]:
        with self._changing(EVERY_TENANT, (_LOCK, (_STORE,))) as (connection, _):
            yield connection

    @contextmanager
    def _chaining(self) -> Iterator[Connection]:
        locks = (_SHARED_LOCK, (_STORE,)), (LESS_LOCK_TIMEOUT, ()), (_LOCK, (_CHAIN,))
        with self._changing(EVERY_TENANT, *locks) as (connection, _):
            yield connection

    @contextmanager
    def _changing(self, tenant: str | None, *locks: Call) -> Iterator[tuple[Connection, Sequence[Any]]]:
        """A transaction at READ COMMITTED: its statements see what was committed before it had its locks."""
        limit = {"idle_in_transaction_session_timeout": _LONGEST_PAUSE}
        with self._begun(self._engine, [*enclosing(tenant, **limit), *locks]) as (connection, answers):
            yield connection, answers
            with self._committing():
                connection.commit()

    @contextmanager
    def _begun(self, engine: Engine, calls: Calls) -> Iterator[tuple[Connection, Sequence[Any]]]:
        waiting = patience(self._most)
        with self._usable(), self._gate.passed(waiting), begun(engine, waiting, [self._at_home(), *calls]) as session:
            yield session

    def _at_home(self) -> Call:
        """The setting that restricts the transaction to the tables of this store."""
        return "pg_catalog.set_config('search_path', %s, true)", (self._home(),)

    def _home(self) -> str:
        if self._search_path is None:
            self._search_path = search_path(self._engine, self.name)
        return self._search_path

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """Report a connection lost here as an unknown outcome."""
        try:
            yield
        except DBAPIError as error:
            kind, said = self._explained(error.orig)
            if kind is StoreUnreachable:
                raise OutcomeUnknown(f"{self.name}: {said}. {OutcomeUnknown.__doc__}") from error
            raise

    def _explained(self, driver: BaseException | None) -> tuple[type[StorageError], str]:
        """Only the first line of the server's message, because the details quote rows."""
        if not isinstance(driver, psycopg.Error):
            return StorageError, type(driver).__name__
        state = driver.sqlstate or _unstated(driver)
        if state == _UNIQUE and _is_of_cubes(driver):
            return IdTaken, "a memory with that id is stored"
        kind = next((kind for code, kind in _ERRORS.items() if state.startswith(code)), StorageError)
        return kind, (driver.diag.message_primary or " ".join(str(driver).split())).rstrip(".?")

    def _create(self, connection: Connection) -> None:
        if self._embedder is None:
            raise InvalidInput("path", f"{self.name} holds no store", "Name the database of one")
        postgres_tables.create(connection)
        migrations.stamp(connection)


def _is_of_cubes(driver: psycopg.Error) -> bool:
    """Whether the error is about the table of cubes, or about a partition of it."""
    return bool(re.fullmatch(r"cubes(_\d+)?", driver.diag.table_name or ""))


def _of(owner: Scope) -> int:
    """The lock number of that owner."""
    return lock_number("owner", *owner_row(owner).values())


def _unstated(driver: psycopg.Error) -> str:
    """The SQLSTATE of an error that came without one, as those of a connection do."""
    if is_full(driver):
        return "53300"
    if os.strerror(errno.ENOSPC) in str(driver):  # a server with a full disk accepts no connection
        return "53100"
    return "08" if isinstance(driver, psycopg.OperationalError) else ""
