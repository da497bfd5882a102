"""SqliteJobSignal: sees that the file has changed, by a number that SQLite keeps for that."""

from __future__ import annotations

import time
from threading import Event
from typing import Any

from sqlalchemy import Engine

_TICK = 0.2  # seconds between two looks; so a worker asks for jobs no more often, however much is written


class SqliteJobSignal:
    """Signals after any commit of another connection; checking the number is cheap."""

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.raw_connection()
        self._connection.detach()
        self._error: type[Exception] = engine.dialect.loaded_dbapi.Error
        self._seen = self._version()

    def wait(self, seconds: float, stop: Event) -> bool:
        """Wait until a notification, `stop` or the timeout; return whether there was a notification."""
        deadline = time.monotonic() + seconds
        while not stop.wait(max(0.0, min(_TICK, deadline - time.monotonic()))):
            seen, self._seen = self._seen, self._version()
            if self._seen != seen:
                return True
            if time.monotonic() >= deadline:
                return False
        return False

    def close(self) -> None:
        """Stop listening. A second call does nothing."""
        self._connection.close()

    def _version(self) -> Any:
        try:
            return self._connection.cursor().execute("PRAGMA data_version").fetchone()[0]
        except self._error as error:  # who asks for jobs will be told what is wrong
            return error
