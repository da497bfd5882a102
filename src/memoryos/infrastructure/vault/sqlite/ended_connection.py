"""EndedConnection: a connection whose reading ends with its transaction.

SQLite keeps a snapshot as long as somebody could read on from it, and a rollback leaves open cursors as they are: what
is read next on the connection is as old as that, and the log cannot be emptied. An error that somebody keeps also keeps
the cursor from which the row came that it is about.
"""

from __future__ import annotations

import sqlite3
from typing import Any
from weakref import ref

_MANY = 1_000  # cursors that are remembered before those that nobody has any more are forgotten


class EndedConnection(sqlite3.Connection):
    """A connection that closes its cursors when it rolls back, as each session does at its end."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._open: list[ref[sqlite3.Cursor]] = []  # a WeakSet takes as long as a short statement
        self._spare: sqlite3.Cursor | None = None

    def cursor(self, *arguments: Any) -> Any:
        """Make a cursor."""
        made = super().cursor(*arguments)
        self._open.append(ref(made))
        if len(self._open) % _MANY == 0:
            self._open = [one for one in self._open if one() is not None]
        return made

    def spare(self) -> sqlite3.Cursor:
        """The same cursor until the rollback, for statements whose rows are read at once: to make one takes longer."""
        if self._spare is None:
            self._spare = self.cursor()
        return self._spare

    def rollback(self) -> None:
        """Close the cursors, and end the transaction if there is one."""
        self._spare = None
        for one in self._open:
            if (cursor := one()) is not None:
                cursor.close()
        self._open.clear()
        super().rollback()
