"""PostgresJobSignal: listens to the notifications of transactions that made a job due."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Event

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from memoryos.infrastructure.vault.job_channel import CHANNEL

_STEP = 0.25  # seconds between two looks whether to stop
_PAUSE = 1.0  # seconds until a lost connection is made again


class PostgresJobSignal:
    """Listens on its own connection, opened by the first wait and reopened if it is lost."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: psycopg.Connection | None = None

    def wait(self, seconds: float, stop: Event) -> bool:
        """Wait until a notification, `stop` or the timeout; return whether there was a notification."""
        deadline = time.monotonic() + seconds
        while not stop.is_set() and (left := deadline - time.monotonic()) > 0:
            try:
                if self._heard(min(left, _STEP)):
                    return True
            except (psycopg.Error, DBAPIError):
                self.close()
                stop.wait(min(left, _PAUSE))
        return False

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        if self._connection:
            with suppress(psycopg.Error):  # it was lost
                self._connection.close()
            self._connection = None

    def _heard(self, seconds: float) -> bool:
        if self._connection is None:
            self._connection = self._listening()
            return True  # notifications may have been missed before
        return any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))

    def _listening(self) -> psycopg.Connection:
        pooled = self._engine.raw_connection()
        connection = pooled.driver_connection
        pooled.detach()
        if not isinstance(connection, psycopg.Connection):
            raise TypeError(f"a connection of psycopg is needed, not {type(connection).__name__}")
        connection.autocommit = True
        connection.execute(f"LISTEN {CHANNEL}")
        return connection
