"""StoredEvents: reading the events of one owner."""

from __future__ import annotations

from sqlalchemy import Connection

from memoryos.clock import from_micros
from memoryos.infrastructure.vault import queries
from memoryos.infrastructure.vault.legible import legible
from memoryos.infrastructure.vault.records import Event, Operation
from memoryos.infrastructure.vault.statements import ask
from memoryos.kinds import Kind

_OPERATIONS, _KINDS = {one.value: one for one in Operation}, {one.value: one for one in Kind}


class StoredEvents:
    """Events over a connection, in the order in which they happened."""

    _connection: Connection
    _owner: dict[str, str]

    def events(self, *, after: int = 0, limit: int = 1000) -> list[Event]:
        """Return the next events, the oldest first."""
        rows = ask(self._connection, queries.EVENTS, {**self._owner, "after": after, "limit": limit})
        with legible("events"):
            return [
                Event(sequence, from_micros(at), _OPERATIONS[operation], _KINDS[kind], cube_id, version, detail)
                for sequence, at, operation, kind, cube_id, version, detail in rows
            ]

    def logged(self, *, after: int, limit: int) -> tuple[list[Event], int | None]:
        """Return the next events, and the sequence after which to go on; None: there are no more."""
        found = self.events(after=after, limit=limit)
        return found, found[-1].sequence if found and len(found) == limit else None
