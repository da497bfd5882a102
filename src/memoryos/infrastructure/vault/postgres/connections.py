"""Connections to a PostgreSQL server: few per process, with retries if the server has none left."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from threading import BoundedSemaphore, local
from typing import Any

import psycopg
from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from memoryos.errors import StoreBusy
from memoryos.infrastructure.vault import compiled
from memoryos.infrastructure.vault.fence import Calls
from memoryos.infrastructure.vault.patience import Patience, patience

# What a server says that has none left. There is no SQLSTATE: libpq tells that of statements alone.
_FULL = ("too many clients", "too many connections", "remaining connection slots")
_PAUSE = (0.02, 0.1)  # seconds until it is asked again; by chance, so that those who wait do not come together

# Seconds since the statement began; in functions, for what an operator means depends on the search path.
_WAITED = (
    "pg_catalog.date_part('epoch', pg_catalog.timestamptz_mi("
    "pg_catalog.clock_timestamp(), pg_catalog.statement_timestamp()))"
)

LESS_LOCK_TIMEOUT = (  # what the locks before it, in the same statement, have left
    "pg_catalog.set_config('lock_timeout', GREATEST(1, pg_catalog.ceil(pg_catalog.float8mul(1000, pg_catalog.date_part("
    "'epoch', pg_catalog.interval_mi(pg_catalog.current_setting('lock_timeout')::pg_catalog.interval,"
    " pg_catalog.timestamptz_mi(pg_catalog.clock_timestamp(), pg_catalog.statement_timestamp())))))"
    "::pg_catalog.int4)::pg_catalog.text, true)"
)

_REST_OF_LOCK_TIMEOUT = (  # what all locks of the statement have left of so many milliseconds, for those that follow
    "pg_catalog.set_config('lock_timeout', GREATEST(1, pg_catalog.ceil(pg_catalog.float8mi("
    f"%s::pg_catalog.float8, pg_catalog.float8mul(1000, {_WAITED})))::pg_catalog.int4)::pg_catalog.text, true)"
)


class ThreadLimit:
    """Limits the number of threads that use the database at once.

    A thread that is in may open a second session without asking again, because waiting could deadlock with the locks
    that it holds.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._threads = threads
        self._free = BoundedSemaphore(threads)
        self._mine = local()

    @contextmanager
    def passed(self, waiting: Patience) -> Iterator[None]:
        """Hold a place during the block. Raises StoreBusy if none is free in time."""
        if not self._depth and not waiting.takes(self._free):
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
        """The number of sessions of this thread."""
        depth: int = getattr(self._mine, "depth", 0)
        return depth


def is_full(error: BaseException | None) -> bool:
    """Whether the error means that the server has no connection left."""
    return isinstance(error, psycopg.OperationalError) and any(words in str(error) for words in _FULL)


def open_engine(url: URL, *, kept: int, most: float) -> Engine:
    """An engine that keeps up to `kept` idle connections; a call waits so many seconds for a server that has none."""
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
    event.listen(engine, "do_connect", partial(_connect, most=most))
    return engine


@contextmanager
def begun(engine: Engine, waiting: Patience, calls: Calls) -> Iterator[tuple[Connection, Sequence[Any]]]:
    """A transaction that begins with these calls, and their answers; what is not committed is rolled back.

    For a lock it waits as long as is left. The calls are one statement, for each is a journey to the server. It is
    tried again when the connection was lost: the server may have closed it while nobody used it.
    """
    try:
        connection, answers = _opened(engine, waiting, calls)
    except DBAPIError as error:
        if not error.connection_invalidated:
            raise
        connection, answers = _opened(engine, waiting, calls)
    with connection:
        yield connection, answers


def _opened(engine: Engine, waiting: Patience, calls: Calls) -> tuple[Connection, Sequence[Any]]:
    # In the driver's own words: for so short a statement, and one of every transaction, SQLAlchemy's cost more than it.
    with ExitStack() as undo:
        connection = undo.enter_context(engine.connect())
        limit = "pg_catalog.set_config('lock_timeout', %s, true)", (lock_timeout(waiting),)
        rest = _REST_OF_LOCK_TIMEOUT, (round(waiting.left * 1000),)
        all_calls: Calls = [limit, *calls, rest, (_WAITED, ())]
        statement = f"SELECT {', '.join(call for call, _ in all_calls)}"
        values = tuple(chain.from_iterable(given for _, given in all_calls))
        _, *answers, _, waited = connection.exec_driver_sql(statement, values).one()
        undo.pop_all()  # usable: it stays open
    waiting.spend(waited)
    return connection, answers


def lock_timeout(waiting: Patience) -> str:
    """The remaining time as the PostgreSQL setting `lock_timeout`."""
    return f"{max(1, round(waiting.left * 1000))}ms"  # 0 would be for ever


def _connect(dialect: Dialect, _record: Any, given: list[Any], named: dict[str, Any], *, most: float) -> Any:
    waiting = patience(most)
    while True:
        try:
            return dialect.connect(*given, **named)
        except psycopg.OperationalError as error:
            if not is_full(error) or not waiting.left:
                raise
        waiting.pause(random.uniform(*_PAUSE))  # noqa: S311 - spreads load, guards nothing
