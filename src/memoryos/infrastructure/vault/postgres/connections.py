"""Connections to a PostgreSQL server: few of each process, and patience when the server has none left."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from threading import BoundedSemaphore, local
from typing import Any

import psycopg
from sqlalchemy import Connection, Dialect, Engine, Row, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from memoryos.errors import StoreBusy
from memoryos.infrastructure.vault import compiled
from memoryos.infrastructure.vault.fence import Calls

# What a server says that has none left. There is no SQLSTATE: libpq tells that of statements alone.
_FULL = ("too many clients", "too many connections", "remaining connection slots")
_PAUSE = (0.02, 0.1)  # seconds until it is asked again; by chance, so that those who wait do not come together


class Gate:
    """Lets so many threads use the database at once.

    Who is in may open a second session without asking again: it would wait for others, while they wait for a lock
    that it holds.
    """

    def __init__(self, name: str, threads: int, patience: float) -> None:
        self._name = name
        self._threads = threads
        self._free = BoundedSemaphore(threads)
        self._patience = patience  # seconds
        self._mine = local()

    @contextmanager
    def passed(self) -> Iterator[None]:
        """Be in for as long as the block takes. Raises StoreBusy when nobody leaves in time."""
        if not self._depth and not self._free.acquire(timeout=self._patience):
            raise StoreBusy(f"{self._name}: all {self._threads} connections of this process are in use; try again.")
        self._mine.depth = self._depth + 1
        try:
            yield
        finally:
            self._mine.depth -= 1
            if not self._depth:
                self._free.release()

    @property
    def _depth(self) -> int:
        """How many sessions this thread has."""
        depth: int = getattr(self._mine, "depth", 0)
        return depth


def is_full(error: BaseException | None) -> bool:
    """Whether that is what a server says that has no connection left."""
    return isinstance(error, psycopg.OperationalError) and any(words in str(error) for words in _FULL)


def open_engine(url: URL, *, kept: int, patience: float) -> Engine:
    """An engine that keeps up to `kept` idle connections, and waits so many seconds for a server that has none."""
    defaults = {"connect_timeout": "10", "application_name": "memoryos"}  # seconds
    engine = create_engine(
        url.set(drivername="postgresql+psycopg").update_query_dict({**defaults, **url.query}),
        isolation_level="READ COMMITTED",
        hide_parameters=True,  # an error must not quote what a user said
        pool_size=kept,
        max_overflow=-1,  # the gate says how many threads there are; a thread that is in must not wait again
        use_native_hstore=False,
        execution_options=compiled.SHARED,
    )
    event.listen(engine, "do_connect", partial(_connect, patience=patience))
    return engine


@contextmanager
def begun(engine: Engine, calls: Calls) -> Iterator[tuple[Connection, Row[Any]]]:
    """A transaction that begins with these calls, and their answers; what is not committed is rolled back.

    They are one statement, for each is a journey to the server. It is tried again when the connection was lost: the
    server may have closed it while nobody used it.
    """
    try:
        connection, answers = _opened(engine, calls)
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        connection, answers = _opened(engine, calls)
    with connection:
        yield connection, answers


def _opened(engine: Engine, calls: Calls) -> tuple[Connection, Row[Any]]:
    # In the driver's own words: for so short a statement, and one of every transaction, SQLAlchemy's cost more than it.
    statement = f"SELECT {', '.join(call for call, _ in calls)}"
    values = tuple(chain.from_iterable(given for _, given in calls))
    with ExitStack() as undo:
        connection = undo.enter_context(engine.connect())
        answers = connection.exec_driver_sql(statement, values).one()
        undo.pop_all()  # usable: it stays open
    return connection, answers


def _connect(dialect: Dialect, _record: Any, given: list[Any], named: dict[str, Any], *, patience: float) -> Any:
    deadline = time.monotonic() + patience
    while True:
        try:
            return dialect.connect(*given, **named)
        except psycopg.OperationalError as error:
            if not is_full(error) or time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(*_PAUSE))  # noqa: S311 - spreads load, guards nothing
