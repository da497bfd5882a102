"""Strays: rows that do not fit the cubes they name, found by the database."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, exists, func, or_, select

from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.damage import Damage, Fault
from memoryos.infrastructure.vault.owners import told_owner
from memoryos.infrastructure.vault.queries import same_cube
from memoryos.infrastructure.vault.queue import has_numbers, is_payload
from memoryos.infrastructure.vault.records import JobState, Link, LinkKind, Operation
from memoryos.infrastructure.vault.tables import OWNER
from memoryos.kinds import Kind

_cubes, _links, _events, _jobs = tables.cubes, tables.links, tables.events, tables.jobs

_LEARNED = (Kind.FACT, Kind.TRAIT, Kind.PROFILE)

_ENDS: dict[LinkKind, tuple[tuple[Kind, ...], tuple[Kind, ...]]] = {  # what each kind of link joins
    LinkKind.CHAIN: ((Kind.PAGE,), (Kind.PAGE,)),
    LinkKind.MEMBER_OF: ((Kind.PAGE,), (Kind.SEGMENT,)),
    LinkKind.DERIVED_FROM: (_LEARNED, (Kind.PAGE,)),
    LinkKind.SUPERSEDES: ((Kind.FACT,), (Kind.FACT,)),
    LinkKind.READ: ((Kind.PAGE,), (Kind.PAGE,)),
    LinkKind.EXTRACTED: ((Kind.PAGE,), (Kind.PAGE,)),
    LinkKind.ABSORBED: ((Kind.PAGE, Kind.FACT), (Kind.PAGE, Kind.FACT)),
    LinkKind.COMPUTED_FROM: ((Kind.PARAMETER, Kind.ACTIVATION, Kind.FACT), tuple(Kind)),
    LinkKind.MENTIONS: (tuple(Kind), tuple(Kind)),
}


def strays(connection: Connection) -> Iterator[Damage]:
    """Return all stray rows."""
    for table, stray in _without_a_cube():
        for row in connection.execute(select(table).where(stray)):
            cube_id = row.source if table is _links else row.cube_id
            yield Damage(Fault.STRAY, f"a row of {table.name}", cube_id)
    yield from _impossible_links(connection)
    yield from _second_homes(connection)
    yield from _shared_positions(connection)
    yield from _events_of_nothing(connection)
    yield from _foreign_jobs(connection)


def drop_strays(connection: Connection) -> None:
    """Remove the rows that belong to no cube: nothing can reach them."""
    for table, stray in _without_a_cube():
        connection.execute(delete(table).where(stray))


def _without_a_cube() -> Iterator[tuple[Table, ColumnElement[bool]]]:
    for table in (tables.versions, tables.vectors, tables.passages, tables.next_vectors):
        yield table, _is_gone(table.c.cube_id)
    yield _jobs, and_(_jobs.c.cube_id.is_not(None), _is_gone(_jobs.c.cube_id))
    yield _links, or_(_is_gone(_links.c.source), _is_gone(_links.c.target), _is_unknown(_links.c.kind, LinkKind))


def _impossible_links(connection: Connection) -> Iterator[Damage]:
    source, target = _cubes.alias("source"), _cubes.alias("target")
    possible = [
        and_(_links.c.kind == kind.value, source.c.kind.in_(_values(begins)), target.c.kind.in_(_values(ends)))
        for kind, (begins, ends) in _ENDS.items()
    ]
    stays = _links.c.kind.in_(
        _values((LinkKind.CHAIN, LinkKind.MEMBER_OF, LinkKind.READ, LinkKind.EXTRACTED, LinkKind.ABSORBED))
    )  # a persona may be of all agents
    foreign = or_(*(source.c[name] != target.c[name] for name in OWNER))
    query = (
        select(*(source.c[name] for name in OWNER), _links.c.source, _links.c.kind, _links.c.target)
        .join(source, and_(source.c.tenant == _links.c.tenant, source.c.id == _links.c.source))
        .join(target, and_(target.c.tenant == _links.c.tenant, target.c.id == _links.c.target))
        .where(~_is_unknown(_links.c.kind, LinkKind), or_(~or_(*possible), and_(stays, foreign)))
    )
    for row in connection.execute(query):
        yield _link_damage(row)


def _second_homes(connection: Connection) -> Iterator[Damage]:
    """All memberships of a page except the first."""
    first = _links.alias("first")
    earlier = exists().where(
        first.c.tenant == _links.c.tenant,
        first.c.source == _links.c.source,
        first.c.kind == _links.c.kind,
        first.c.target < _links.c.target,
    )
    query = (
        select(*(_cubes.c[name] for name in OWNER), _links.c.source, _links.c.kind, _links.c.target)
        .join(_cubes, same_cube(_links.c.source))
        .where(_links.c.kind == LinkKind.MEMBER_OF.value, earlier)
    )
    for row in connection.execute(query):
        yield _link_damage(row)


def _shared_positions(connection: Connection) -> Iterator[Damage]:
    columns = [_cubes.c[name] for name in (*OWNER, "position")]
    for row in connection.execute(select(*columns).group_by(*columns).having(func.count() > 1)):
        yield Damage(Fault.POSITION, f"position {row.position} is taken twice", owner=told_owner(row[:4]))


def _events_of_nothing(connection: Connection) -> Iterator[Damage]:
    end = _events.alias("end")
    deleted = exists().where(
        end.c.tenant == _events.c.tenant,
        end.c.cube_id == _events.c.cube_id,
        end.c.operation == Operation.DELETE.value,
    )
    unknown = or_(_is_unknown(_events.c.operation, Operation), _is_unknown(_events.c.kind, Kind))
    query = select(_events.c.sequence, _events.c.cube_id).where(
        or_(unknown, and_(_is_gone(_events.c.cube_id), ~deleted))
    )
    for row in connection.execute(query.order_by(_events.c.sequence)):
        yield Damage(Fault.EVENT, f"event {row.sequence}", row.cube_id)


def _foreign_jobs(connection: Connection) -> Iterator[Damage]:
    """Jobs of another owner's cube, in no known state, with text for a number, or with a payload that is none.

    Of a kind that is unknown here, another program knows more.
    """
    of_another = exists().where(same_cube(_jobs.c.cube_id), or_(*(_jobs.c[name] != _cubes.c[name] for name in OWNER)))
    is_damaged = or_(of_another, _is_unknown(_jobs.c.state, JobState), ~has_numbers)
    query = select(_jobs.c.id, _jobs.c.cube_id, _jobs.c.payload, is_damaged.label("is_damaged"))
    for row in connection.execute(query.where(or_(is_damaged, _jobs.c.payload.is_not(None)))):
        if row.is_damaged or not is_payload(row.payload):
            yield Damage(Fault.JOB, f"job {row.id}", row.cube_id or "")


def _link_damage(row: Any) -> Damage:
    link = Link(row.source, LinkKind(row.kind), row.target)
    return Damage(Fault.LINK, f"{link.kind} {link.target}", link.source, told_owner(row[:4]), link)


def _is_gone(column: ColumnElement[str]) -> ColumnElement[bool]:
    return ~exists().where(same_cube(column))


def _is_unknown(column: ColumnElement[str], kinds: type[StrEnum]) -> ColumnElement[bool]:
    return column.not_in(_values(kinds))


def _values(kinds: Any) -> list[str]:
    return [kind.value for kind in kinds]
