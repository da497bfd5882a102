"""Soundness: whether what a store holds fits together.

The document of a cube is the truth; columns, vectors, passages and links are held against it. Everything is read in
one snapshot, some cubes at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from sqlalchemy import Column, ColumnElement, Connection, Row, Table, and_, func, select, tuple_

from memoryos.clock import micros
from memoryos.cube import MemCube, Page, Segment, Turn, from_json
from memoryos.errors import InvalidInput, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.cold.packs import Packs
from memoryos.infrastructure.vault import audit_part, backup, checksum, rows, tables
from memoryos.infrastructure.vault.blob_copying import blob_damages
from memoryos.infrastructure.vault.damage import Damage, Fault, Report
from memoryos.infrastructure.vault.making_note import MAKING
from memoryos.infrastructure.vault.note import Note
from memoryos.infrastructure.vault.owners import told_owner, told_owners
from memoryos.infrastructure.vault.records import REVISIONS, Extent, LinkKind
from memoryos.infrastructure.vault.retention_part import HOLDS, TENANT_RULES
from memoryos.infrastructure.vault.sql_vault import SqlVault
from memoryos.infrastructure.vault.strays import strays
from memoryos.infrastructure.vault.version_part import TRIMMED, whole_documents
from memoryos.kinds import Kind, Tier
from memoryos.progress import Progress
from memoryos.scope import Scope

AT_A_TIME = 500  # cubes held at once, with what belongs to them

_HALF, _SINGLE = np.dtype("<f2"), np.dtype("<f4")  # what passages and vectors are stored as

_FOREIGN = "is of another cube, or of another owner"

# The earlier versions of a segment go with each page that leaves it, and those of a KV state with the next one.
_INCOMPLETE = (Kind.SEGMENT, Kind.ACTIVATION)

_ONLY_TOLD = {tables.events: Fault.EVENT, tables.jobs: Fault.JOB}  # tables of which the other checks read few rows

_NOTED = select(*(tables.notes.c[name] for name in tables.OWNER))
_TRIMMED = _NOTED.where(tables.notes.c.key == TRIMMED)
_UNFINISHED = _NOTED.where(tables.notes.c.key == MAKING.key)

_Found = Mapping[tuple[str, str], Sequence[Row[Any]]]  # rows by the tenant and the id of their cube


def verify(
    vault: SqlVault, dim: int | None = None, progress: Progress | None = None, notes: Sequence[Note[Any]] = ()
) -> Report:
    """Look at everything; `dim` is the length of the embedder's vectors, that of most when left out.

    `notes` are the kinds of notes whose values are read. `progress` is told cubes.
    """
    with vault.snapshot() as connection:
        checked = {table.name: rows.count(connection, [table]) for table in rows.CONTENT}
        damages = [Damage(Fault.FILE, said) for said in vault.errors_in_file(connection)]
        if not damages:  # in a torn file the rest says nothing
            damages += _changes(connection)
            damages += _in_cubes(connection, vault.packs, dim or _usual_dim(connection), progress)
            damages += strays(connection)
            damages += _illegible(connection)
            damages += blob_damages(connection, vault.blobs)
            damages += _in_notes(connection, notes)
            damages += _in_log(connection)
    return Report(checked, tuple(damages))


@dataclass(frozen=True, slots=True)
class _Belongings:
    """Vectors, passages and links of some cubes."""

    versions: _Found
    vectors: _Found
    passages: _Found
    homes: _Found  #: the segments of pages
    members: Mapping[tuple[str, str], int]  #: how many pages segments have
    trimmed: Collection[Scope]  #: the owners who keep only the latest versions
    unfinished: Collection[Scope]  #: the branches that are being made, or were left half made


@dataclass(frozen=True, slots=True)
class _Stored:
    """A cube with its vector, passages and links."""

    cube: MemCube
    row: Row[Any]
    versions: Sequence[Row[Any]]
    vectors: Sequence[Row[Any]]
    passages: Sequence[Row[Any]]
    homes: int
    members: int
    dim: int
    is_trimmed: bool  #: whether the oldest versions of the owner's cubes may be gone
    is_unfinished: bool  #: whether links of the cube may be missing


def _changes(connection: Connection) -> list[Damage]:
    manifest = backup.manifest_of(connection)
    changed = backup.differing(connection, manifest) if manifest else []
    return [Damage(Fault.BACKUP, f"{name} is not what was backed up") for name in changed]


def _in_notes(connection: Connection, notes: Sequence[Note[Any]]) -> Iterator[Damage]:
    for row in rows.stream(connection, tables.notes):
        owner = told_owner(row._mapping[name] for name in tables.OWNER)
        if owner is None or not checksum.is_utf8(row.key) or any(note.is_damaged(row.key, row.value) for note in notes):
            yield Damage(Fault.NOTE, f"the note {checksum.shown(row.key)!r}", owner=owner)
        elif _is_stray_hold(row):
            yield Damage(Fault.NOTE, f"a legal hold under the key {row.key!r}, where nobody finds it", owner=owner)
    for row in rows.stream(connection, tables.meta):
        if TENANT_RULES.is_damaged(row.key, row.value):
            yield Damage(Fault.NOTE, f"the note {checksum.shown(row.key)!r} of the whole store")


def _is_stray_hold(row: Row[Any]) -> bool:
    """Whether the note is a hold under another key than its own."""
    try:
        return bool(row.key != HOLDS.key + HOLDS.read(row.value).id)
    except StoreCorrupt:  # it is no hold
        return False


def _illegible(connection: Connection) -> Iterator[Damage]:
    """Events and jobs with bytes that are no UTF-8, of which no server keeps any."""
    for table, fault in _ONLY_TOLD.items() if connection.dialect.name == "sqlite" else ():
        for row in rows.stream(connection, table):
            if not rows.is_legible(row):
                yield Damage(fault, f"a row of {table.name} cannot be read", rows.cube_of(row))


def _in_log(connection: Connection) -> list[Damage]:
    broken = audit_part.followed(connection).broken
    return [Damage(Fault.AUDIT, f"entry {one.number}: {one.problem}", owner=one.scope) for one in broken]


def _in_cubes(connection: Connection, packs: Packs, dim: int, progress: Progress | None) -> Iterator[Damage]:
    done, total = 0, rows.count(connection, [tables.cubes])
    for batch in rows.batches(rows.stream(connection, tables.cubes), AT_A_TIME):
        named = list(filter(_is_named, batch))
        nameless = (row for row in batch if not _is_named(row))
        yield from (Damage(Fault.DOCUMENT, _FOREIGN, checksum.shown(row.id)) for row in nameless)
        if named:
            belongings = _belongings(connection, named)
            for row in named:
                yield from _in_cube(row, packs, belongings, dim)
        done += len(batch)
        if progress:
            progress(done, total)


def _is_named(row: Row[Any]) -> bool:
    """Whether the key of a cube is text that can be asked for."""
    return checksum.is_utf8(row.tenant) and checksum.is_utf8(row.id)


def _belongings(connection: Connection, batch: Sequence[Row[Any]]) -> _Belongings:
    first, last = (batch[0].tenant, batch[0].id), (batch[-1].tenant, batch[-1].id)

    def of_these(column: Column[Any]) -> ColumnElement[bool]:
        key = tuple_(column.table.c.tenant, column)
        return and_(key >= tuple_(*first), key <= tuple_(*last))

    def beside(table: Table, name: str, *only: ColumnElement[bool]) -> _Found:
        query = select(table).where(of_these(table.c[name]), *only).order_by(*rows.key_of(table))
        found = groupby(connection.execute(query), key=lambda row: (row[0], row[1]))
        return {key: list(group) for key, group in found}

    links = tables.links
    joins = links.c.kind == LinkKind.MEMBER_OF.value
    group = [links.c.tenant, links.c.target]
    members = select(*group, func.count()).where(of_these(links.c.target), joins).group_by(*group)
    return _Belongings(
        beside(tables.versions, "cube_id"),
        beside(tables.vectors, "cube_id"),
        beside(tables.passages, "cube_id"),
        beside(links, "source", joins),
        {(row[0], row[1]): row[2] for row in connection.execute(members)},
        set(told_owners(connection.execute(_TRIMMED))),
        set(told_owners(connection.execute(_UNFINISHED))),
    )


def _in_cube(row: Row[Any], packs: Packs, belongings: _Belongings, dim: int) -> Iterator[Damage]:
    key = (row.tenant, row.id)
    if not checksum.is_text_sound(row.document, row.checksum):
        yield Damage(Fault.DOCUMENT, "is not what was written", checksum.shown(row.id))
        return
    try:
        cube = from_json(packs.document(row.id, row.document))
    except (StoreCorrupt, ObjectsUnreachable) as error:
        yield Damage(Fault.COLD, str(error), row.id)
        return
    except InvalidInput as error:
        yield Damage(Fault.DOCUMENT, f"cannot be read: {error.field}", row.id)
        return
    if any(value != row._mapping[name] for name, value in _identity(cube).items()):
        yield Damage(Fault.DOCUMENT, _FOREIGN, row.id)
        return
    stored = _Stored(
        cube,
        row,
        belongings.versions.get(key, ()),
        belongings.vectors.get(key, ()),
        belongings.passages.get(key, ()),
        len(belongings.homes.get(key, ())),
        belongings.members.get(key, 0),
        dim,
        cube.scope.owner in belongings.trimmed,
        cube.scope.owner in belongings.unfinished,
    )
    for fault, check in _CHECKS.items():
        if wrong := check(stored):
            yield Damage(fault, wrong, cube.id, cube.scope.owner)


def _identity(cube: MemCube) -> dict[str, str]:
    return {**tables.owner_row(cube.scope), "id": cube.id}


def _columns_wrong(stored: _Stored) -> str | None:
    expected = tables.cube_row(stored.cube)
    del expected["document"], expected["checksum"]  # an older program wrote the same cube in other words
    return ", ".join(name for name, value in expected.items() if stored.row._mapping[name] != value) or None


def _position_wrong(stored: _Stored) -> str | None:
    return None if tables.is_position(stored.row.position) else "is no number that a program gives"


def _versions_wrong(stored: _Stored) -> str | None:
    present = stored.cube.version.number
    numbers = [*(row.version for row in stored.versions), present]
    if not all(isinstance(number, int) for number in numbers):  # a server has nothing else in such a column
        return f"one before version {present} has no number"
    starts = [place for place, (one, following) in enumerate(pairwise(numbers), 1) if following != one + 1]
    # An operation that writes very many versions of a cube leaves out some before the last ones.
    runs = [end - start for start, end in pairwise([*starts, len(numbers)])]
    if (
        (numbers[0] != 1 and not stored.is_trimmed and stored.cube.kind not in _INCOMPLETE)
        or numbers != sorted(set(numbers))
        or any(run < REVISIONS for run in runs)
    ):
        return f"there are {len(stored.versions)} before version {present}"
    whole = whole_documents(stored.versions)
    for row in stored.versions:
        if not checksum.is_text_sound(whole[row.version], row.checksum):
            return f"version {row.version} is not what was written"
        try:
            old = from_json(whole[row.version])
        except InvalidInput as error:
            return f"version {row.version} cannot be read: {error.field}"
        if (old.version.number, _identity(old)) != (row.version, _identity(stored.cube)):
            return f"version {row.version} is of another cube"
    return None


def _passages_wrong(stored: _Stored) -> str | None:
    cube, payload = stored.cube, stored.cube.payload
    if not stored.passages and (stored.vectors or not isinstance(payload, Page)):
        return None  # what an older program stored of a page, until it is searched for
    turns = payload.turns if isinstance(payload, Page) else ()
    if changed := [row.part for row in stored.passages if not checksum.is_passage_sound(row)]:
        return f"passage {changed[0]} is not what was written"
    if [row.part for row in stored.passages] != list(range(1, len(stored.passages) + 1)):
        return "parts are missing"
    if wrong := _extents_wrong([_extent(row) for row in stored.passages], turns):
        return wrong
    for row in stored.passages:
        turn = turns[_extent(row).turn]
        if row.said_at != micros(turn.at or cube.descriptive.event_at) or row.speaker != turn.speaker:
            return f"passage {row.part} is another's"
        if not _is_vector(row.vector, stored.dim, _HALF):
            return f"passage {row.part} has no vector of the embedder"
    return None


def _extent(row: Row[Any]) -> Extent:
    return Extent(row.part - 1) if row.turn is None else Extent(row.turn, row.start, row.end)


def _extents_wrong(extents: Sequence[Extent], turns: Sequence[Turn]) -> str | None:
    """The fault of passages that do not cover every turn once and in order, apart from white space between them."""
    covered = [turn for turn, _ in groupby(extent.turn for extent in extents)]
    if covered != list(range(len(turns))):
        return f"there are {len(covered)} of {len(turns)} turns"
    for number, own in groupby(extents, key=lambda extent: extent.turn):
        words, reached = turns[number].words, 0
        for extent in own:
            if extent.start < reached or words[reached : extent.start].strip():
                return f"turn {number + 1} is not covered"
            reached = len(words) if extent.end is None else extent.end
        if reached > len(words) or words[reached:].strip():
            return f"turn {number + 1} is not covered"
    return None


def _vector_wrong(stored: _Stored) -> str | None:
    if not stored.vectors and stored.cube.kind in (Kind.FACT, Kind.SEGMENT):
        return "is missing"
    if not all(checksum.is_vector_sound(row.data, row.checksum) for row in stored.vectors):
        return "is not what was written"
    if not all(_is_vector(row.data, stored.dim, _SINGLE) for row in stored.vectors):
        return "is none of the embedder"
    return None


def _place_wrong(stored: _Stored) -> str | None:
    cube, payload = stored.cube, stored.cube.payload
    if stored.is_unfinished:  # links are copied last; nobody can use it
        return None
    if cube.kind is Kind.PAGE and cube.tier is not Tier.STM and not stored.homes:
        return "is in no segment"
    if isinstance(payload, Segment) and payload.pages != stored.members:
        return f"has {stored.members} pages and counts {payload.pages}"
    return None


_CHECKS: dict[Fault, Callable[[_Stored], str | None]] = {
    Fault.COLUMNS: _columns_wrong,
    Fault.POSITION: _position_wrong,
    Fault.VERSIONS: _versions_wrong,
    Fault.PASSAGES: _passages_wrong,
    Fault.VECTOR: _vector_wrong,
    Fault.PLACE: _place_wrong,
}


def _is_vector(data: bytes, dim: int, kind: np.dtype[Any]) -> bool:
    return len(data) == dim * kind.itemsize and bool(np.isfinite(np.frombuffer(data, kind)).all())


def _usual_dim(connection: Connection) -> int:
    """The length that most vectors have."""
    for column, kind in ((tables.passages.c.vector, _HALF), (tables.vectors.c.data, _SINGLE)):
        length = func.length(column)
        query = select(length).group_by(length).order_by(func.count().desc(), length).limit(1)
        if found := connection.scalar(query):
            return int(found) // kind.itemsize
    return 0
