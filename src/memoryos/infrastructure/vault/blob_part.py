"""Blobs: the part of a session that knows which bytes lie in the object store, and which cubes refer to them.

A blob is noted before its bytes are put, with the moment when they are to be removed unless a cube refers to them by
then; the transaction that stores the cube keeps it. The one that deletes the last cube that refers to it lets it go.
So a process that dies leaves no reference without bytes, and no bytes that nobody knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Exists, Select, and_, delete, exists, func, or_, select, true, update

from memoryos.clock import from_micros, micros
from memoryos.cube import Activation, MemCube, Page, Parameter
from memoryos.errors import BlobMissing
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.statements import chunks, insert_rows
from memoryos.infrastructure.vault.stored_blob import StoredBlob
from memoryos.infrastructure.vault.tables import OWNER

_BEING_REMOVED = 0

_blobs, _attached, _cubes = tables.blobs, tables.attached, tables.cubes


def refs_of(cube: MemCube) -> set[str]:
    """The sha256 of all blobs that a cube refers to."""
    if isinstance(cube.payload, Activation | Parameter):
        return {cube.payload.blob.sha256} if cube.payload.blob else set()
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    found = [BlobRef.read(one.uri) for turn in turns for one in turn.attachments]
    return {ref.sha256 for ref in found if ref}


def missing(sha: str) -> BlobMissing:
    """The error about bytes that the store does not have, or not for this caller."""
    return BlobMissing(f"the bytes of an attachment ({sha}) are not in the store; add them again")


class BlobPart:
    """The blobs of one owner, within one transaction."""

    def __init__(self, connection: Connection, owner: dict[str, str]) -> None:
        self._connection = connection
        self._owner = owner
        self.has_let_go = False  #: whether some were released

    def kept(self, shas: Iterable[str]) -> dict[str, StoredBlob]:
        """The blobs among these that a cube refers to, by sha256."""
        query = self._select().where(_blobs.c.remove_at.is_(None))
        asked = (query.where(_blobs.c.sha256.in_(some)) for some in chunks(shas))
        return {row.sha256: StoredBlob(*row) for one in asked for row in self._connection.execute(one)}

    def holders(self, shas: Iterable[str]) -> dict[str, list[str]]:
        """The ids of the owner's cubes that refer to these blobs, by sha256."""
        found: dict[str, list[str]] = {}
        query = select(_attached.c.sha256, _attached.c.cube_id).join(_cubes, _cubes.c.id == _attached.c.cube_id)
        mine = and_(*(_cubes.c[name] == self._owner[name] for name in OWNER), _attached.c.tenant == _cubes.c.tenant)
        for sha, cube_id in self._connection.execute(query.where(mine, _attached.c.sha256.in_(list(shas)))):
            found.setdefault(sha, []).append(cube_id)
        return found

    def begin(self, blobs: Sequence[StoredBlob], *, remove_at: datetime) -> None:
        """Record blobs before their bytes are stored; they are removed at that time unless a cube refers to them."""
        rows = [
            {
                **self._owner,
                "name": blob.name,
                "sha256": blob.sha256,
                "size": blob.size,
                "media_type": blob.media_type,
                "remove_at": micros(remove_at),
            }
            for blob in blobs
        ]
        insert_rows(self._connection, _blobs, rows)

    def stored(self, names: Collection[str], *, remove_at: datetime) -> None:
        """Have these drafts go later than those whose bytes may never come: of several, the last one is kept."""
        for some in chunks(names):
            mine = and_(self._mine(), _blobs.c.name.in_(some), _blobs.c.remove_at > _BEING_REMOVED)
            self._connection.execute(update(_blobs).where(mine).values(remove_at=micros(remove_at)))

    def refer(self, cubes: Iterable[MemCube], now: datetime) -> None:
        """Keep the blobs that these cubes refer to. Raises BlobMissing if bytes are missing or about to be removed."""
        wanted = {cube.id: refs for cube in cubes if (refs := refs_of(cube))}
        rows = self._unnoted(wanted) if wanted else []
        if rows:
            insert_rows(self._connection, _attached, rows)
            names = {row["sha256"] for row in rows}
            for some in chunks({row["cube_id"]: None for row in rows}):
                self._keep(some, names, now)

    def let_go(self, cube_ids: Sequence[str]) -> None:
        """Release the blobs that only these cubes refer to, which are about to be removed."""
        named = self._named_by(cube_ids)
        if self._connection.scalar(named.limit(1)) is not None:
            going = self._give_up(_blobs.c.sha256.in_(named), _attached.c.cube_id.not_in(cube_ids))
            self.has_let_go |= going > 0

    def next_removal(self) -> datetime | None:
        """The time of the next removal of bytes; None if there is none."""
        at = self._connection.scalar(select(func.min(_blobs.c.remove_at)).where(self._mine()))
        return None if at is None else from_micros(at)

    def unused(self, names: Collection[str] | None = None) -> list[StoredBlob]:
        """The blobs, all or those with these names, that were put or begun and to which no cube refers."""
        query = self._select().where(_blobs.c.remove_at.is_not(None))
        asked = [query] if names is None else [query.where(_blobs.c.name.in_(some)) for some in chunks(names)]
        return [StoredBlob(*row) for one in asked for row in self._connection.execute(one)]

    def named_by(self, cube_ids: Iterable[str]) -> set[str]:
        """The sha256 of the blobs that these cubes refer to."""
        return {sha for some in chunks(cube_ids) for sha in self._connection.scalars(self._named_by(some))}

    def due(self, now: datetime) -> list[str]:
        """The names of the objects to remove now; to be asked while nobody waits, for it looks at all of the owner."""
        unused = and_(_blobs.c.remove_at.is_(None), ~_is_referred_to())  # of cubes that an older program deleted
        query = self._select().where(or_(_blobs.c.remove_at <= micros(now), unused))
        return [row.name for row in self._connection.execute(query)]

    def claim(self, names: Sequence[str], now: datetime | None) -> list[str]:
        """Of these objects, return the names of those to remove still; from now on, no cube can refer to them.

        Without `now`, drafts are among them before their time is over.
        """
        is_due = true() if now is None else or_(_blobs.c.remove_at <= micros(now), _blobs.c.remove_at.is_(None))
        for some in chunks(names):
            self._give_up(and_(_blobs.c.name.in_(some), is_due))
        query = self._select().where(_blobs.c.remove_at == _BEING_REMOVED)
        claimed = {
            row.name for some in chunks(names) for row in self._connection.execute(query.where(_blobs.c.name.in_(some)))
        }
        return [name for name in names if name in claimed]

    def forget(self, names: Iterable[str]) -> None:
        """Delete the records of blobs whose bytes were removed."""
        for some in chunks(names):
            self._connection.execute(delete(_blobs).where(self._mine(), _blobs.c.name.in_(some)))

    def _keep(self, cube_ids: Sequence[str], wanted: Collection[str], now: datetime) -> None:
        """Keep the bytes that these cubes name, in few statements: a page may name thousands."""
        other = _blobs.alias()
        same = and_(*(other.c[name] == _blobs.c[name] for name in (*OWNER, "sha256")))
        named = self._named_by(cube_ids)
        # Of the drafts the latest: an earlier one may be of a process that died, or had no room, before it put them.
        latest = select(other.c.name).where(same, other.c.remove_at > micros(now))
        latest = latest.order_by(other.c.remove_at.desc(), other.c.name.desc()).limit(1)
        is_kept = exists(other.c.name).where(same, other.c.remove_at.is_(None))
        drafts = and_(self._mine(), _blobs.c.sha256.in_(named), _blobs.c.remove_at > micros(now), ~is_kept)
        keeping = update(_blobs).where(drafts, _blobs.c.name == latest.scalar_subquery())
        self._connection.execute(keeping.values(remove_at=None))
        kept = and_(self._mine(), _blobs.c.sha256 == _attached.c.sha256, _blobs.c.remove_at.is_(None))
        lost = set(self._connection.scalars(named.where(~exists(_blobs.c.name).where(kept)))).intersection(wanted)
        if lost:
            raise missing(min(lost))

    def _named_by(self, cube_ids: Sequence[str]) -> Select[Any]:
        """The sha256 of the blobs that these cubes refer to."""
        mine = (_attached.c.tenant == self._owner["tenant"], _attached.c.cube_id.in_(cube_ids))
        return select(_attached.c.sha256).where(*mine)

    def _unnoted(self, wanted: Mapping[str, Collection[str]]) -> list[dict[str, str]]:
        """The rows that say which cubes refer to which bytes, as far as they are not there."""
        known = set[tuple[str, str]]()
        for some in chunks(wanted):
            of_cubes = and_(_attached.c.tenant == self._owner["tenant"], _attached.c.cube_id.in_(some))
            query = select(_attached.c.cube_id, _attached.c.sha256).where(of_cubes)
            known.update((row.cube_id, row.sha256) for row in self._connection.execute(query))
        return [
            {"tenant": self._owner["tenant"], "cube_id": cube_id, "sha256": sha}
            for cube_id, shas in wanted.items()
            for sha in sorted(shas)
            if (cube_id, sha) not in known
        ]

    def _give_up(self, which: ColumnElement[bool], *others: ColumnElement[bool]) -> int:
        """Release the blobs among these that no cube, or none of the `others`, refers to; return their number."""
        is_held = _is_referred_to().where(*others)
        gone = and_(self._mine(), which, or_(_blobs.c.remove_at.is_not(None), ~is_held))
        given = update(_blobs).where(gone).values(remove_at=_BEING_REMOVED)
        return int(self._connection.execute(given).rowcount)

    def _select(self) -> Any:
        return select(_blobs.c.name, _blobs.c.sha256, _blobs.c.size, _blobs.c.media_type).where(self._mine())

    def _mine(self) -> ColumnElement[bool]:
        return and_(*(_blobs.c[name] == self._owner[name] for name in OWNER))


def _is_referred_to() -> Exists:
    """Whether a cube of the blob's owner refers to it."""
    return exists(_attached.c.cube_id).where(
        _attached.c.tenant == _blobs.c.tenant,
        _attached.c.sha256 == _blobs.c.sha256,
        _cubes.c.tenant == _attached.c.tenant,
        _cubes.c.id == _attached.c.cube_id,
        *(_cubes.c[name] == _blobs.c[name] for name in OWNER),
    )
