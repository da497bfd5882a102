"""UserPart: how much memory users have, and when it last changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import func, select

from memoryos.clock import from_micros
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.key_part import Reading
from memoryos.infrastructure.vault.statements import chunks


class UserTally(NamedTuple):
    """What a user has in a store."""

    memories: dict[str, int]  #: by kind
    scopes: int
    last_activity: datetime


@dataclass(frozen=True, slots=True)
class UserPart:
    """The users of one store."""

    reading: Reading

    def tallies(self, tenant: str, names: Sequence[str]) -> dict[str, UserTally]:
        """The users among these who have a cube, with counts and the time of the last event."""
        cubes, events = tables.cubes.c, tables.events.c
        owner = (cubes.user_id, cubes.agent_id, cubes.namespace)
        found: dict[str, UserTally] = {}
        with self.reading(tenant) as connection:
            for some in chunks(names):
                mine = (events.tenant == tenant, events.user_id.in_(some))
                last = select(func.max(events.sequence)).where(*mine).group_by(events.user_id)
                latest = select(events.user_id, events.at).where(*mine, events.sequence.in_(last))
                times = {user: from_micros(at) for user, at in connection.execute(latest)}
                counted = select(*owner, cubes.kind, func.count()).where(cubes.tenant == tenant, owner[0].in_(some))
                rows = connection.execute(counted.group_by(*owner, cubes.kind).order_by(*owner, cubes.kind)).all()
                found |= {user: _tally(own, times[user]) for user, own in groupby(rows, lambda row: row[0])}
        return found


def _tally(rows: Iterable[Any], last: datetime) -> UserTally:
    memories, scopes = Counter[str](), set[tuple[str, str]]()
    for _, agent, path, kind, number in rows:
        memories[kind] += number
        scopes.add((agent, path))
    return UserTally(dict(memories), len(scopes), last)
