"""OwnerPart: the part of a session that lists or removes everything of one owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Table,
    and_,
    delete,
    func,
    select,
    true,
    tuple_,
    union,
)

from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.cold_part import ColdPart, is_pack
from memoryos.infrastructure.vault.records import Link, LinkKind, Operation
from memoryos.infrastructure.vault.tables import OWNER

_IDS = 5_000  # in a statement

_cubes, _events, _notes, _links = tables.cubes, tables.events, tables.notes, tables.links


class OwnerPart:
    """The rows of one owner, within one transaction."""

    def __init__(self, connection: Connection, owner: dict[str, str]) -> None:
        self._connection = connection
        self._owner = owner

    def placed(self, after: int, limit: int, session: str | None) -> Iterator[Any]:
        """Position, id, kind and version of cubes in the order of insertion."""
        query = select(_cubes.c.position, _cubes.c.id, _cubes.c.kind, _cubes.c.version).where(self._mine(_cubes))
        query = query.where(_cubes.c.position > after).order_by(_cubes.c.position).limit(limit)
        if session is not None:
            query = query.where(_cubes.c.session_id == session)
        return iter(self._connection.execute(query))

    def links_of(self, ids: Iterable[str]) -> list[Link]:
        """The links from these cubes."""
        found: list[Link] = []
        wanted = list(ids)
        for start in range(0, len(wanted), _IDS):
            some = wanted[start : start + _IDS]
            query = (
                select(_links.c.source, _links.c.kind, _links.c.target)
                .join(_cubes, and_(_cubes.c.tenant == _links.c.tenant, _cubes.c.id == _links.c.source))
                .where(self._mine(_cubes), _links.c.source.in_(some))
                .order_by(_links.c.source, _links.c.kind, _links.c.target)
            )
            found += [Link(source, LinkKind(kind), target) for source, kind, target in self._connection.execute(query)]
        return found

    def remains(self) -> dict[str, int]:
        """The number of rows in each table, without tables that have none."""
        counts = {table.name: self._count(table) for table in _tables()}
        return {name: count for name, count in counts.items() if count}

    def purge(self, limit: int) -> int:
        """Remove rows; the cubes are gone already, and rows of blobs go with their bytes."""
        for table in _tables():
            if table not in (_cubes, tables.blobs) and (removed := self._removed(table, limit)):
                return removed
        return 0

    def give_up(self, cold: ColdPart, now: datetime) -> None:
        """Release all packs."""
        for name in cold.packs():
            cold.give_up(name, now)

    def _removed(self, table: Table, limit: int) -> int:
        key = tuple_(*table.primary_key.columns)
        some = select(*table.primary_key.columns).where(self._doomed(table)).limit(limit)
        found = [tuple(row) for row in self._connection.execute(some)]
        if found:
            self._connection.execute(delete(table).where(key.in_(found)))
        return len(found)

    def _count(self, table: Table) -> int:
        query = select(func.count()).select_from(table).where(self._doomed(table))
        return int(self._connection.execute(query).scalar_one())

    def _doomed(self, table: Table) -> ColumnElement[bool]:
        return and_(self._mine(table), _tells(table), ~is_pack(_notes.c.key) if table is _notes else true())

    def _mine(self, table: Table) -> ColumnElement[bool]:
        return and_(*(table.c[name] == self._owner[name] for name in OWNER))


def traces(tenant: str | None, user: str | None) -> CompoundSelect[Any]:
    """The owners of a user, of a tenant or of the store, for which a table has more than deletion records."""
    parts = [
        select(*(table.c[name] for name in OWNER)).where(
            true() if tenant is None else table.c.tenant == tenant,
            true() if user is None else table.c.user_id == user,
            _tells(table),
        )
        for table in _tables()
    ]
    return union(*parts)


def _tells(table: Table) -> ColumnElement[bool]:
    return _events.c.operation != Operation.DELETE.value if table is _events else true()


def _tables() -> list[Table]:
    """The tables whose rows name their owner, without the audit log: it has no content, and nothing leaves it."""
    kept = (tables.audit, tables.audit_heads)
    every = (table for table in tables.metadata.sorted_tables if table not in kept)
    return [table for table in every if all(name in table.c for name in OWNER)]
