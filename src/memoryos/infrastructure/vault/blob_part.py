"""Blobs: the part of a session that knows which bytes lie in the object store, and which cubes refer to them.

A blob is noted before its bytes are put, with the moment when they are to be removed unless a cube refers to them by
then; the transaction that stores the cube keeps it. The one that deletes the last cube that refers to it lets it go.
So a process that dies leaves no reference without bytes, and no bytes that nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, or_, select, update

from memoryos.clock import from_micros, micros
from memoryos.cube import Activation, MemCube, Page, Parameter
from memoryos.errors import BlobMissing
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.stored_blob import StoredBlob
from memoryos.infrastructure.vault.tables import OWNER

_BEING_REMOVED = 0

_blobs, _attached, _cubes = tables.blobs, tables.attached, tables.cubes


def refs_of(cube: MemCube) -> set[str]:
    """The sha256 of all blobs that a cube refers to."""
    if isinstance(cube.payload, Activation | Parameter):
        return {cube.payload.blob.sha256} if cube.payload.blob else set()
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    found = (BlobRef.read(one.uri) for turn in turns for one in turn.attachments)
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
        query = self._select().where(_blobs.c.sha256.in_(list(shas)), _blobs.c.remove_at.is_(None))
        return {row.sha256: StoredBlob(*row) for row in self._connection.execute(query)}

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
        if rows:
            self._connection.execute(_blobs.insert(), rows)

    def refer(self, cubes: Iterable[MemCube], now: datetime) -> None:
        """Keep the blobs that these cubes refer to. Raises BlobMissing if bytes are missing or about to be removed."""
        for cube in cubes:
            if wanted := refs_of(cube):
                self._keep(wanted, now)
                self._note(cube.id, wanted)

    def let_go(self, cube_ids: Sequence[str], delete_cubes: Callable[[], object]) -> None:
        """Run the deletion of cubes, and release the blobs that no other cube refers to."""
        mine = and_(_attached.c.tenant == self._owner["tenant"], _attached.c.cube_id.in_(cube_ids))
        shas = list(self._connection.scalars(select(_attached.c.sha256).where(mine).distinct()))
        delete_cubes()
        if shas:
            self.has_let_go |= self._give_up(_blobs.c.sha256.in_(shas)) > 0

    def next_removal(self) -> datetime | None:
        """The time of the next removal of bytes; None if there is none."""
        at = self._connection.scalar(select(func.min(_blobs.c.remove_at)).where(self._mine()))
        return None if at is None else from_micros(at)

    def claim(self, now: datetime) -> list[str]:
        """Return the names of the objects to remove now; from now on, no cube can refer to them."""
        self._give_up(_blobs.c.remove_at <= micros(now))
        self._give_up(_blobs.c.remove_at.is_(None))  # of cubes that an older program deleted
        query = self._select().where(_blobs.c.remove_at == _BEING_REMOVED)
        return [row.name for row in self._connection.execute(query)]

    def forget(self, names: Iterable[str]) -> None:
        """Delete the records of blobs whose bytes were removed."""
        for name in names:
            self._connection.execute(delete(_blobs).where(self._mine(), _blobs.c.name == name))

    def _keep(self, wanted: set[str], now: datetime) -> None:
        for sha in sorted(wanted - self.kept(wanted).keys()):
            drafts = self._select().where(_blobs.c.sha256 == sha, _blobs.c.remove_at > micros(now))
            # An earlier one may be of a process that was killed, or had no room, before it put the bytes.
            latest = drafts.order_by(_blobs.c.remove_at.desc(), _blobs.c.name.desc()).limit(1)
            found = self._connection.execute(latest).first()
            if found is None:
                raise missing(sha)
            known = and_(self._mine(), _blobs.c.name == found.name)
            self._connection.execute(update(_blobs).where(known).values(remove_at=None))

    def _note(self, cube_id: str, wanted: set[str]) -> None:
        of_cube = and_(_attached.c.tenant == self._owner["tenant"], _attached.c.cube_id == cube_id)
        known = set(self._connection.scalars(select(_attached.c.sha256).where(of_cube)))
        rows = [{"tenant": self._owner["tenant"], "cube_id": cube_id, "sha256": sha} for sha in sorted(wanted - known)]
        if rows:
            self._connection.execute(_attached.insert(), rows)

    def _give_up(self, which: ColumnElement[bool]) -> int:
        """Release the blobs among these that no cube refers to; return their number."""
        gone = and_(self._mine(), which, or_(_blobs.c.remove_at.is_not(None), ~_is_referred_to()))
        given = update(_blobs).where(gone).values(remove_at=_BEING_REMOVED)
        return int(self._connection.execute(given).rowcount)

    def _select(self) -> Any:
        return select(_blobs.c.name, _blobs.c.sha256, _blobs.c.size, _blobs.c.media_type).where(self._mine())

    def _mine(self) -> ColumnElement[bool]:
        return and_(*(_blobs.c[name] == self._owner[name] for name in OWNER))


def _is_referred_to() -> ColumnElement[bool]:
    """Whether a cube of the blob's owner refers to it."""
    return exists(_attached.c.cube_id).where(
        _attached.c.tenant == _blobs.c.tenant,
        _attached.c.sha256 == _blobs.c.sha256,
        _cubes.c.tenant == _attached.c.tenant,
        _cubes.c.id == _attached.c.cube_id,
        *(_cubes.c[name] == _blobs.c[name] for name in OWNER),
    )
