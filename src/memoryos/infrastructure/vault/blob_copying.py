"""Blobs of whole stores: copied with the rows that refer to them, and checked.

A copy has objects of its own, under names of its own: what is deleted in one store stays in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, exists, select, tuple_, update

from memoryos.errors import ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.objects.blobs import Blobs, new_name
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.damage import Damage, Fault
from memoryos.infrastructure.vault.owners import told_owner
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.tables import OWNER

_UNFINISHED = 0  # in `remove_at`: the object is being put, or removed

_blobs, _attached, _cubes = tables.blobs, tables.attached, tables.cubes

_KEY = (*OWNER, "sha256")

Change = Callable[[], AbstractContextManager[Connection]]


def copy_blobs(source: SqlVault, target: SqlVault, change: Change) -> None:
    """Make the blobs of the target equal to those of the source; `change` begins a transaction on the target.

    When it was cut off, call it again: it goes on. Raises StoreCorrupt when bytes of the source are missing or
    altered, ObjectsUnreachable.
    """
    with source.snapshot() as ours:
        wanted = {_key(row): row for row in ours.execute(_kept())}
    _drop(target, change, wanted.keys())
    with target.snapshot() as theirs:
        known = {_key(row) for row in theirs.execute(_kept())}
    for key, row in wanted.items():
        if key not in known and (data := _bytes(source, row)) is not None:
            _put(target.blobs, change, row, data)
    with change() as connection:  # what was deleted in the source meanwhile
        connection.execute(delete(_attached).where(~_has_bytes()))


def blob_damages(connection: Connection, blobs: Blobs) -> Iterator[Damage]:
    """The damages of blobs: missing or altered bytes, and references to nothing."""
    for row in connection.execute(_kept().order_by(_blobs.c.tenant, _blobs.c.name)):
        try:
            data = blobs.read(row.name)
        except (StoreCorrupt, ObjectsUnreachable) as error:
            yield Damage(Fault.BLOB, str(error), owner=told_owner(row[:4]))
            continue
        if len(data) != row.size:
            yield Damage(Fault.BLOB, f"the blob {row.name} has another size", owner=told_owner(row[:4]))
    query = select(_attached.c.cube_id, _attached.c.sha256).where(~_has_bytes())
    for cube_id, sha in connection.execute(query.order_by(_attached.c.tenant, _attached.c.cube_id)):
        yield Damage(Fault.BLOB, f"the bytes {sha} are nowhere", cube_id)


def _kept() -> Any:
    return select(_blobs).where(_blobs.c.remove_at.is_(None))


def _key(row: Row[Any]) -> tuple[str, ...]:
    return tuple(row._mapping[name] for name in _KEY)


def _drop(target: SqlVault, change: Change, wanted: Any) -> None:
    """Remove extra blobs of the target, including the rest of an unfinished copy."""
    with target.snapshot() as theirs:
        found = [row for row in theirs.execute(select(_blobs)) if row.remove_at is not None or _key(row) not in wanted]
    for row in found:
        target.blobs.remove(row.name)
        with change() as connection:
            connection.execute(delete(_blobs).where(_is(row.tenant, row.name)))


def _bytes(source: SqlVault, row: Row[Any]) -> bytes | None:
    """The bytes; None if they were deleted meanwhile."""
    try:
        return source.blobs.read(row.name)
    except StoreCorrupt:
        with source.snapshot() as now:
            if now.execute(_kept().where(_is(row.tenant, row.name))).first() is not None:
                raise
        return None


def _put(blobs: Blobs, change: Change, row: Row[Any], data: bytes) -> None:
    name = new_name(row.sha256)
    with change() as connection:
        connection.execute(_blobs.insert(), {**row._mapping, "name": name, "remove_at": _UNFINISHED})
    blobs.put(name, data)
    with change() as connection:
        connection.execute(update(_blobs).where(_is(row.tenant, name)).values(remove_at=None))


def _is(tenant: str, name: str) -> ColumnElement[bool]:
    return tuple_(_blobs.c.tenant, _blobs.c.name) == tuple_(tenant, name)


def _has_bytes() -> ColumnElement[bool]:
    """Whether a blob of the cube's owner has the bytes that the cube refers to."""
    return exists(_blobs.c.name).where(
        _cubes.c.tenant == _attached.c.tenant,
        _cubes.c.id == _attached.c.cube_id,
        and_(*(_blobs.c[name] == _cubes.c[name] for name in OWNER)),
        _blobs.c.sha256 == _attached.c.sha256,
        _blobs.c.remove_at.is_(None),
    )
