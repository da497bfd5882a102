"""Work under the lock, counted in calls of functions: a measure that no busy machine changes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from datetime import datetime
from types import FrameType
from typing import Any

from sqlalchemy import Connection

from memoryos.infrastructure.vault.contract import Writer
from memoryos.infrastructure.vault.patience import Patience
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.sqlite.sqlite_vault import SqliteVault
from memoryos.operation.hierarchy.arrangement import Plan
from memoryos.operation.hierarchy.rehome import Rehomer, named
from memoryos.scope import Scope

Writing = Callable[[Scope], AbstractContextManager[Any]]


class Counted:
    """Calls made, by Python or by C, for as long as it counts in this thread."""

    def __init__(self) -> None:
        self.calls = 0

    def __enter__(self) -> Counted:
        gc.disable()  # it would call what waits to be finalized, of any test
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        gc.enable()

    def _count(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.calls += event in ("call", "c_call")


def calls_in(work: Callable[[], object]) -> int:
    """How many calls the work makes, in a thread of its own: what the main thread asks a memory runs elsewhere."""

    def counted() -> int:
        with Counted() as calls:
            work()
        return calls.calls

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, counted).result()


@contextmanager
def database_work(vault: SqliteVault) -> Iterator[list[int]]:
    """What SQLite does in each write transaction of the vault, from when it has the lock, in tens of its steps."""
    taken, take = list[int](), vault._take_write_lock

    def step() -> int:
        taken[-1] += 1
        return 0

    def taking(writer: Connection, waiting: Patience) -> None:
        take(writer, waiting)
        taken.append(0)
        writer.connection.dbapi_connection.set_progress_handler(step, 10)  # type: ignore[union-attr]

    vault._take_write_lock = taking  # type: ignore[method-assign]
    try:
        yield taken
    finally:
        vault._take_write_lock = take  # type: ignore[method-assign]
        vault._kept_writer().connection.dbapi_connection.set_progress_handler(None, 0)  # type: ignore[union-attr]


@contextmanager
def locks_of(vault: SqlVault) -> Iterator[list[int]]:
    """The calls made in each write transaction of the vault, from when it has the lock."""
    taken: list[int] = []
    writing: Writing = vault._writing

    @contextmanager
    def counting(owner: Scope) -> Iterator[Any]:
        with writing(owner) as connection, Counted() as counted:
            yield connection
        taken.append(counted.calls)

    vault._writing = counting  # type: ignore[method-assign]
    yield taken
    vault._writing = writing  # type: ignore[method-assign]


def carry_out(writer: Writer, made: Plan, now: datetime) -> None:
    """Make the moves of a plan in one transaction."""
    Rehomer(writer, named(made), now).flush(writer)
