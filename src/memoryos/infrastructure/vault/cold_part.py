"""Cold: the part of a session that knows packs: which documents lie in one, and which packs an owner has.

A pack is cold as a whole: when one of its documents is wanted back, all come back, and the pack is removed later. So
what is deleted can be in no pack but those that wait for their removal. Each pack is noted before it is written, with
the moment when it is to be removed unless it is in use by then: a process that dies leaves nothing that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, func, select, update

from memoryos.clock import from_micros, micros
from memoryos.infrastructure.cold.pack import Pack, pack_of, reference
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.vault import checksum, queries, tables
from memoryos.infrastructure.vault.note import Note, NoteReader
from memoryos.infrastructure.vault.records import Archived
from memoryos.infrastructure.vault.tables import OWNER
from memoryos.kinds import Kind, Tier

PACK = "pack:"  # before the names of packs, in the keys of notes
_IN_USE = "in use"  # the value of the note; otherwise a moment in microseconds, or 0 once it is being removed
_BEING_REMOVED = "0"
_DRAFT = "+"  # before the moment of a pack that is being written
_SPOILED = "-"  # before the moment of a pack that nobody may put in use: its bytes may come until then, and go again

_cubes, _notes = tables.cubes, tables.notes

_SWAP = (
    update(_cubes)
    .where(*(_cubes.c[name] == bindparam(f"of_{name}") for name in ("tenant", "id")))
    .where(_cubes.c.document == bindparam("before"))
    .values(document=bindparam("after"), checksum=bindparam("sum_after"))
)


def _read_time(value: str) -> datetime | None:
    return None if value == _IN_USE else from_micros(abs(int(value)))


PACKS = Note(PACK, _read_time, has_many=True)  # when each is to be removed


class ColdPart:
    """The packs of one owner, within one transaction."""

    def __init__(self, connection: Connection, owner: dict[str, str], packs: Packs) -> None:
        self._connection = connection
        self._owner = owner
        self._packs = packs

    def archived(self, after: int, limit: int) -> list[Archived]:
        """Archived pages whose documents are in the store, by position; the document of a damaged one is empty."""
        query = (
            select(_cubes.c.position, _cubes.c.id, _cubes.c.document, _cubes.c.checksum)
            .where(self._mine(_cubes), _cubes.c.kind == Kind.PAGE.value, _cubes.c.tier == Tier.ARCHIVE.value)
            .where(_cubes.c.position > after, ~queries.is_cold(_cubes.c.document))
            .order_by(_cubes.c.position)
            .limit(limit)
        )
        return [
            Archived(position, cube_id, document if checksum.is_text_sound(document, told) else "")
            for position, cube_id, document, told in self._connection.execute(query)
        ]

    def packs(self) -> dict[str, datetime | None]:
        """The owner's packs, and when each is to be removed."""
        query = select(_notes.c.key, _notes.c.value).where(self._mine(_notes), is_pack(_notes.c.key))
        found = self._connection.execute(query.order_by(_notes.c.key))
        names = ((key.removeprefix(PACK), value) for key, value in found)
        return {name: PACKS.read(value, name) for name, value in names}

    def begin(self, pack: Pack, remove_at: datetime) -> bool:
        """Record a pack before it is written; not if a document changed: what was erased would be in it."""
        if not self.are_as_packed(pack):
            return False
        noted = {**self._owner, "key": PACK + pack.name, "value": f"{_DRAFT}{micros(remove_at)}"}
        self._connection.execute(_notes.insert(), noted)
        return True

    def are_as_packed(self, pack: Pack) -> bool:
        """Whether the store has exactly the documents of the pack."""
        query = select(_cubes.c.id, _cubes.c.document).where(self._mine(_cubes), _cubes.c.id.in_(list(pack.documents)))
        return {row.id: row.document for row in self._connection.execute(query)} == pack.documents

    def put_in_use(self, name: str, now: datetime) -> bool:
        """Mark a pack as in use; return False if it is already due for removal."""
        at = self.packs().get(name)
        return at is not None and at > now and self._set(name, _IN_USE, ~_is_marked(_SPOILED))

    def swap(self, documents: Mapping[str, str], name: str, *, out: bool) -> list[str]:
        """Replace these documents by references, or the other way round; return the changed cubes."""
        done = []
        for cube_id, document in documents.items():
            told = reference(name, document)
            before, after = (document, told) if out else (told, document)
            key = {"of_tenant": self._owner["tenant"], "of_id": cube_id}
            if self._connection.execute(
                _SWAP, {**key, "before": before, "after": after, "sum_after": checksum.of_text(after)}
            ).rowcount:
                done.append(cube_id)
        return done

    def read(self, name: str) -> Pack:
        """A pack."""
        return self._packs.read(name)

    def give_up(self, name: str, remove_at: datetime) -> bool:
        """Schedule the removal of a pack for that time, or keep an earlier one, as one that is being written does."""
        known = self.packs()
        is_later = name in known and (known[name] or remove_at) >= remove_at
        return is_later and self._set(name, str(micros(remove_at)), ~_is_marked(_DRAFT, _SPOILED))

    def claim(self, now: datetime) -> list[str]:
        """Return the packs that are due for removal; from now on, they cannot be used."""
        over = [name for name, at in self.packs().items() if at is not None and at <= now]
        return [name for name in over if not self._is_needed(name) and self._set(name, _BEING_REMOVED)]

    def spoil(self) -> list[str]:
        """Return the packs that are being written; they cannot be used any more.

        Their records stay until they are to be removed, because their bytes may still come.
        """
        known = {name: at for name, at in self.packs().items() if at is not None}
        is_draft = _is_marked(_DRAFT, _SPOILED)
        return [name for name, at in known.items() if self._set(name, f"{_SPOILED}{micros(at)}", is_draft)]

    def forget(self, names: Iterable[str]) -> None:
        """Delete the records of removed packs."""
        keys = [PACK + name for name in names]
        self._connection.execute(delete(_notes).where(self._mine(_notes), _notes.c.key.in_(keys)))

    def _is_needed(self, name: str) -> bool:
        """Whether a document is in it, which none is whose time is over; but to be wrong here would be to lose one."""
        begin = reference(name, "").split(",", 1)[0]
        told = func.substr(_cubes.c.document, 1, len(begin)) == begin
        query = select(_cubes.c.id).where(self._mine(_cubes), told).limit(1)
        return self._connection.execute(query).first() is not None

    def _set(self, name: str, value: str, *only: ColumnElement[bool]) -> bool:
        known = and_(self._mine(_notes), _notes.c.key == PACK + name, *only)
        return bool(self._connection.execute(update(_notes).where(known).values(value=value)).rowcount)

    def _mine(self, table: Any) -> ColumnElement[bool]:
        return and_(*(table.c[name] == self._owner[name] for name in OWNER))


def may_be_used(reader: NoteReader, name: str) -> bool:
    """Whether a pack that is being written can be put in use still: nobody removed it meanwhile."""
    text = reader.note(PACK + name)
    return text is not None and text != _BEING_REMOVED and not text.startswith(_SPOILED)


def _is_marked(*marks: str) -> ColumnElement[bool]:
    return func.substr(_notes.c.value, 1, 1).in_(marks)


def packs_of(rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """The packs of cubes, from rows of (id, reference)."""
    return {cube_id: pack_of(document) for cube_id, document in rows}


def is_pack(key: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a note is of a pack."""
    return func.substr(key, 1, len(PACK)) == PACK
