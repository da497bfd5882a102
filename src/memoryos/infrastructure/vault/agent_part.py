"""AgentPart: which agents have memories, how many, of how many users, and when they last changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, distinct, func, select
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from memoryos.clock import from_micros
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.key_part import Reading
from memoryos.infrastructure.vault.owners import first_names
from memoryos.infrastructure.vault.statements import chunks


class AgentTally(NamedTuple):
    """What an agent has in a store."""

    users: int
    memories: dict[str, int]  #: by kind
    last_activity: datetime


@dataclass(frozen=True, slots=True)
class AgentPart:
    """The agents of one store. The memory that all agents of a user share has the name ""."""

    reading: Reading

    def names(self, tenant: str, user: str | None, *, after: str | None = None, limit: int | None = None) -> list[str]:
        """Agents of the tenant, or of one of its users, that have a cube, in order."""
        agent = tables.cubes.c.agent_id
        query = select(agent).where(*_of(tables.cubes.c, tenant, user)).distinct().order_by(agent)
        if after is not None:
            query = query.where(agent > after)
        with self.reading(tenant) as connection:
            return first_names(connection, query, limit)

    def tallies(self, tenant: str, user: str | None, names: Sequence[str]) -> dict[str, AgentTally]:
        """The agents among these that have a cube, with counts and the time of the last event."""
        cubes, events = tables.cubes.c, tables.events.c
        users, times, memories = dict[str, int](), dict[str, datetime](), defaultdict[str, dict[str, int]](dict)
        with self.reading(tenant) as connection:
            for some in chunks(names):
                mine = (*_of(cubes, tenant, user), cubes.agent_id.in_(some))
                owners = select(cubes.agent_id, func.count(distinct(cubes.user_id))).where(*mine)
                users |= dict(connection.execute(owners.group_by(cubes.agent_id)).all())
                counted = select(cubes.agent_id, cubes.kind, func.count()).where(*mine)
                for agent, kind, number in connection.execute(counted.group_by(cubes.agent_id, cubes.kind)):
                    memories[agent][kind] = number
                theirs = (*_of(events, tenant, user), events.agent_id.in_(some))
                last = select(func.max(events.sequence)).where(*theirs).group_by(events.agent_id)
                latest = select(events.agent_id, events.at).where(*theirs, events.sequence.in_(last))
                times |= {agent: from_micros(at) for agent, at in connection.execute(latest)}
        return {agent: AgentTally(number, memories[agent], times[agent]) for agent, number in users.items()}


def _of(
    columns: ReadOnlyColumnCollection[str, Column[Any]], tenant: str, user: str | None
) -> list[ColumnElement[bool]]:
    mine = [columns.tenant == tenant]
    return mine if user is None else [*mine, columns.user_id == user]
