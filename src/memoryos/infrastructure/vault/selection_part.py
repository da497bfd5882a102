"""SelectionPart: the part of a session that lists and counts the cubes of a selection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, true

from memoryos.clock import micros
from memoryos.cube import MemCube
from memoryos.infrastructure.vault import queries, tables
from memoryos.infrastructure.vault.cube_documents import is_left_out
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.infrastructure.vault.selection import Positioned, Selection
from memoryos.infrastructure.vault.tables import BEHIND_POSITIONS, OWNER, is_position
from memoryos.kinds import State
from memoryos.lifecycle import PROPOSALS, UNBELIEVED

_AT_ONCE = 500  # cubes read at a time
_cubes, _links = tables.cubes, tables.links

Readable = Callable[[str, str, int | None], MemCube | None]


class SelectionPart:
    """One owner's cubes, within one transaction."""

    def __init__(self, connection: Connection, owner: dict[str, str], readable: Readable) -> None:
        self._connection = connection
        self._owner = owner
        self._readable = readable

    def listed(self, wanted: Selection, after: int, limit: int | None, *, is_latest: bool = False) -> list[Positioned]:
        """The first cubes after a position, up to the limit; with `is_latest`, the last ones before it (0: of all)."""
        found: list[Positioned] = []
        for one in self._admitted(wanted, after, is_latest=is_latest):
            found.append(one)
            if len(found) == limit:
                break
        return found

    def counted(self, wanted: Selection) -> int:
        """The number of cubes."""
        if not wanted.is_told_by_columns:
            return sum(1 for _ in self._admitted(wanted, 0))
        query = select(func.count()).select_from(_cubes).where(self._selected(wanted))
        return int(self._connection.execute(query).scalar_one())

    def tallied(self, wanted: Selection) -> dict[str | None, int]:
        """The number of cubes with the same labels, by these labels; only conditions on columns count."""
        query = select(_cubes.c.tags, func.count()).where(self._selected(wanted)).group_by(_cubes.c.tags)
        return {row[0]: row[1] for row in self._connection.execute(query)}

    def _admitted(self, wanted: Selection, after: int, *, is_latest: bool = False) -> Iterator[Positioned]:
        is_numbered = False
        while rows := self._connection.execute(self._some(wanted, after, is_latest, is_numbered)).all():
            for position, *stored in rows:
                cube = self._readable(*stored) if is_position(position) or is_left_out("memory", stored[0]) else None
                if cube and cube.kind is wanted.kind and wanted.admits(cube):
                    yield Positioned(position, cube)
            if is_numbered or is_position(rows[-1].position):
                after = rows[-1].position
            else:  # damaged: no batch can begin behind it, so those behind the last sound one are read without the like
                is_numbered = True
                after = next((one.position for one in reversed(rows) if is_position(one.position)), after)

    def _some(self, wanted: Selection, after: int, is_latest: bool, is_numbered: bool) -> Select[Any]:
        """The next cubes; if `is_numbered`, without those whose position is no number that a program gives."""
        place = _cubes.c.position
        query = select(place, _cubes.c.id, _cubes.c.document, _cubes.c.checksum).where(self._selected(wanted))
        if after:
            query = query.where(place < after if is_latest else place > after)
        if is_numbered:
            query = query.where(place > 0, place < BEHIND_POSITIONS)
        return query.order_by(place.desc() if is_latest else place).limit(_AT_ONCE)

    def _selected(self, wanted: Selection) -> ColumnElement[bool]:
        mine = (_cubes.c[name] == self._owner[name] for name in OWNER)
        return and_(*mine, *_conditions(wanted), true() if wanted.segment is None else self._is_in(wanted.segment))

    def _is_in(self, segment: str) -> ColumnElement[bool]:
        joins = (_links.c.target == segment, _links.c.kind == LinkKind.MEMBER_OF.value)
        return _cubes.c.id.in_(select(_links.c.source).where(_links.c.tenant == self._owner["tenant"], *joins))


def _conditions(wanted: Selection) -> Iterator[ColumnElement[bool]]:
    """The conditions on columns."""
    now, told = micros(wanted.now), _cubes.c
    yield told.kind == wanted.kind.value
    yield told.state != State.EXPIRED.value
    left_out = PROPOSALS if wanted.looks_back else UNBELIEVED
    yield or_(told.mark.is_(None), told.mark.not_in(sorted(left_out)))
    yield or_(told.expires_at.is_(None), told.expires_at > now, told.state == State.FROZEN.value)
    yield told.tier.in_([tier.value for tier in wanted.tiers]) if wanted.tiers else true()
    for column, value in ((told.subject, wanted.subject), (told.session_id, wanted.session)):
        if value is not None:
            yield column == value
    if wanted.since is not None:
        yield told.event_at >= micros(wanted.since)
    if wanted.until is not None:
        yield told.event_at <= micros(wanted.until)
    if wanted.filter:
        yield queries.labelled(wanted.filter)
