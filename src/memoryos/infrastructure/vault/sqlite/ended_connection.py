"""EndedConnection: a connection whose reading ends with its transaction.

SQLite keeps a snapshot as long as somebody could read on from it, and a rollback leaves open cursors as they are: what
is read next on the connection is as old as that, and the log cannot be emptied. An error that somebody keeps also keeps
the cursor from which the row came that it is about.
"""

from __future__ import annotations

import sqlite3
from typing import Any
from weakref import WeakSet


class EndedConnection(sqlite3.Connection):
    """A connection that closes its cursors when it rolls back, as each session does at its end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._open: WeakSet[sqlite3.Cursor] = WeakSet()

    def cursor(self, *arguments: Any) -> Any:
        """Make a cursor."""
        made = super().cursor(*arguments)
        self._open.add(made)
        return made

    def rollback(self) -> None:
        """Close the cursors, and end the transaction if there is one."""
        for cursor in list(self._open):
            cursor.close()
        super().rollback()
