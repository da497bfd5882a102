"""StoredNames: names in the file of a store, for a shell that completes them: quick, and without the library.

The file is only read, and nothing waits for it. A store with API keys tells no names: whoever completes has shown none.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from memoryos.regex import regex
from memoryos.scope import Scope

MOST_NAMES = 100
_NOTES = {"adapter": "adapters", "activation": "activations", "snapshot": "snapshots", "branch": "branches"}
_PLAIN = regex(r"[\w.@+/:=,%][\w.@+/:=,%-]*")  # a shell would read other names as more than a word
_LOOSE = """
    WITH RECURSIVE found (name) AS (
        SELECT min({column}) FROM cubes WHERE {where} AND {column} >= :start
        UNION ALL
        SELECT (SELECT min({column}) FROM cubes WHERE {where} AND {column} > name) FROM found WHERE name IS NOT NULL
    )
    SELECT name FROM found WHERE name IS NOT NULL
"""  # an index is asked once for each name, however many memories have it
_USERS = _LOOSE.format(column="user_id", where="tenant = :tenant")
_AGENTS = _LOOSE.format(column="agent_id", where="tenant = :tenant AND user_id = :user")
_NOTE = (
    "SELECT value FROM notes WHERE tenant = :tenant AND user_id = :user AND agent_id = :agent"
    " AND namespace = :namespace AND key = :key"
)


@dataclass(frozen=True, slots=True)
class StoredNames:
    """The names that one owner's commands take."""

    path: Path
    owner: Scope

    def beginning(self, kind: str, start: str, now: datetime) -> list[str]:
        """The names of users, agents, adapters, activations, snapshots or branches that begin so.

        There are none if the store is missing, locked, encrypted, keyed, damaged or of an older schema.
        """
        try:
            with closing(self._connection()) as connection:
                if connection.execute("SELECT 1 FROM keys LIMIT 1").fetchone():
                    return []
                found = (name for name in self._names(connection, kind, start, now) if _PLAIN.fullmatch(name))
                return list(islice(found, MOST_NAMES))
        except (sqlite3.Error, OSError, ValueError, TypeError, LookupError, AttributeError):
            return []

    def _connection(self) -> sqlite3.Connection:
        """One that leaves nothing beside the file: without changes that wait there, no other file is looked for."""
        waits = self.path.with_name(f"{self.path.name}-wal").exists()
        way = "mode=ro" if waits else "mode=ro&immutable=1"
        return sqlite3.connect(f"file:{quote(str(self.path.absolute()))}?{way}", uri=True, timeout=0)

    def _names(self, connection: sqlite3.Connection, kind: str, start: str, now: datetime) -> Iterator[str]:
        known = {"tenant": self.owner.tenant, "user": self.owner.user, "agent": self.owner.agent, "start": start}
        if kind in _NOTES:
            asked = {**known, "namespace": self.owner.path, "key": _NOTES[kind]}
            for (value,) in connection.execute(_NOTE, asked):
                yield from (name for name in _noted(value, now) if name.startswith(start))
            return
        for (name,) in connection.execute(_USERS if kind == "user" else _AGENTS, known):
            if not name.startswith(start):
                return
            yield name


def _noted(value: str, now: datetime) -> list[str]:
    """The names in a note: the keys of an object, or those of a list whose time is not over."""
    told = json.loads(value)
    if isinstance(told, list):
        told = [one["name"] for one in told if "expires_at" not in one or _time(one["expires_at"]) > now]
    return sorted(told)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
