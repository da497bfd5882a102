"""VersionPart: the part of a session that keeps the earlier versions of cubes.

The latest of them is stored whole, each older one as its difference to one that is newer. What an older program wrote
is whole until its cube is changed again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update

from memoryos.infrastructure.vault import checksum, tables
from memoryos.infrastructure.vault.statements import chunks
from memoryos.infrastructure.vault.text_size import TextSize
from memoryos.infrastructure.vault.version_delta import delta, restored

TRIMMED = "trimmed"  # the note of an owner whose oldest versions may be gone: `verify` then does not miss them

WHOLE_EACH = 16  # a version with such a number stands by itself, so that damage reaches no further
MOST_CHARS = 256_000  # of a document that is packed: a longer one would hold up the writers
MOST_AT_ONCE = 64  # versions of one cube, packed in one transaction

_versions = tables.versions.c
_KEY = (_versions.tenant, _versions.cube_id, _versions.version)
_STORED = select(
    _versions.cube_id,
    _versions.version,
    _versions.document,
    _versions.checksum,
    _versions.packed,
    _versions.base,
)
_MINE = (_versions.tenant == bindparam("of_tenant"), _versions.cube_id.in_(bindparam("ids", expanding=True)))
_ALL = _STORED.where(*_MINE).order_by(_versions.cube_id, _versions.version)
_WHOLE = _STORED.where(*_MINE, _versions.packed.is_(None), TextSize(_versions.document) <= MOST_CHARS).order_by(
    _versions.cube_id, _versions.version.desc()
)
_PACK = update(tables.versions).where(*(column == bindparam(f"of_{column.name}") for column in _KEY))


class StoredVersion(NamedTuple):
    """The row of an earlier version."""

    cube_id: str
    version: int
    document: str  #: empty if it is packed
    checksum: int | None  #: of the document, also if it is packed
    packed: bytes | None  #: the difference to another version
    base: int | None  #: the number of that one; None: to nothing


def whole_documents(rows: Sequence[Any]) -> dict[int, str]:
    """The documents of all versions of one cube, by number; of one that cannot be restored, an empty text."""
    found = dict[int, str]()
    for row in sorted(rows, key=lambda one: one.version, reverse=True):  # a base is always newer
        found[row.version] = row.document if row.packed is None else _restored(row, found)
    return found


class VersionPart:
    """The earlier versions of one tenant's cubes, within one transaction."""

    def __init__(self, connection: Connection, tenant: str) -> None:
        self._connection = connection
        self._tenant = tenant

    def pack(self, ids: Iterable[str]) -> None:
        """Store what is whole as a difference to the next newer version; the newest one stays whole."""
        for stored in self._of_each(_WHOLE, ids):
            some = stored[:MOST_AT_ONCE]
            pairs = [(row, newer) for newer, row in pairwise(some)]
            self._write(changed for row, newer in pairs if (changed := _packed_row(row, newer)))

    def let_go(self, doomed: Mapping[str, Collection[int]]) -> None:
        """Store those versions in another way that are differences to some that will be removed."""
        for stored in self._of_each(_ALL, doomed):
            gone = doomed[stored[0].cube_id]
            if any(row.base in gone and row.version not in gone for row in stored):
                self._write(_rebased(stored, gone))

    def _of_each(self, query: Any, ids: Iterable[str]) -> Iterator[list[StoredVersion]]:
        for chunk in chunks(ids):
            rows = self._connection.execute(query, {"of_tenant": self._tenant, "ids": chunk}).all()
            for _, some in groupby(map(StoredVersion._make, rows), key=lambda row: row.cube_id):
                yield list(some)

    def _write(self, rows: Iterable[StoredVersion]) -> None:
        values = [
            {
                "of_tenant": self._tenant,
                "of_cube_id": row.cube_id,
                "of_version": row.version,
                "document": row.document,
                "checksum": row.checksum,
                "packed": row.packed,
                "base": row.base,
            }
            for row in rows
        ]
        if values:
            self._connection.execute(_PACK, values)


def _restored(row: Any, newer: Mapping[int, str]) -> str:
    later = "" if row.base is None else newer.get(row.base)
    try:
        return "" if later is None else restored(row.packed, later)
    except (ValueError, TypeError):
        return ""


def _packed_row(row: StoredVersion, newer: StoredVersion) -> StoredVersion | None:
    """The version as a difference; None if it is damaged or does not get smaller."""
    if not (_is_sound(row) and _is_sound(newer)):
        return None
    is_alone = row.version % WHOLE_EACH == 0
    packed = delta(row.document, None if is_alone else newer.document)
    if len(packed) >= len(row.document):
        return None
    told = checksum.of_text(row.document)
    return row._replace(document="", checksum=told, packed=packed, base=None if is_alone else newer.version)


def _rebased(stored: Sequence[StoredVersion], gone: Collection[int]) -> Iterator[StoredVersion]:
    documents = whole_documents(stored)
    for row in stored:
        if row.base in gone and row.version not in gone:
            yield row._replace(packed=delta(documents[row.version], None), base=None)


def _is_sound(row: StoredVersion) -> bool:
    return checksum.is_text_sound(row.document, row.checksum)
