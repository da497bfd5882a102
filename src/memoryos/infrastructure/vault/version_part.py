"""VersionPart: the part of a session that keeps the earlier versions of cubes.

The latest of them is stored whole, each older one as its difference to one that is newer. What an older program wrote
is whole until its cube is changed again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, delete, exists, literal, null, select, update

from memoryos.cube import MOST_VERSIONS, from_json, to_json
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault import checksum, tables
from memoryos.infrastructure.vault.ledger import Ledger
from memoryos.infrastructure.vault.records import Link, LinkKind, Operation, alone
from memoryos.infrastructure.vault.statements import chunks
from memoryos.infrastructure.vault.tables import OWNER
from memoryos.infrastructure.vault.text_size import TextSize
from memoryos.infrastructure.vault.version_delta import delta, restored
from memoryos.infrastructure.vault.version_packing import WHOLE_EACH, packed_version
from memoryos.kinds import Kind

TRIMMED = "trimmed"  # the note of an owner whose oldest versions may be gone: `verify` then does not miss them
UNCHAINED = "unchained"  # the note of an owner whose versions tell of no chain: only an older program kept that

MOST_CHARS = 256_000  # of a document that is packed under the lock: a longer one would hold up the writers
PAGES_AT_ONCE = 64  # whose versions are in memory together
MOST_AT_ONCE = 64  # versions of one cube, packed in one transaction
CHARS_AT_ONCE = 128_000  # of the documents after which no other one is packed in the same call

_versions, _events = tables.versions.c, tables.events.c
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
_NUMBERED = _STORED.where(*_MINE, _versions.version.in_(bindparam("numbers", expanding=True)))
_BASES = (
    select(_versions.cube_id, _versions.version, literal(""), null(), null(), _versions.base)
    .where(*_MINE)
    .order_by(_versions.cube_id, _versions.version)
)
_WHOLE = _STORED.where(*_MINE, _versions.packed.is_(None), TextSize(_versions.document) <= MOST_CHARS).order_by(
    _versions.cube_id, _versions.version.desc()
)
_TOPICS = (  # neither DISTINCT nor within another statement: SQLite would look through all links that the tenant has
    select(tables.links.c.target)
    .where(tables.links.c.tenant == bindparam("of_tenant"), tables.links.c.kind == LinkKind.MEMBER_OF.value)
    .where(tables.links.c.source.in_(bindparam("ids", expanding=True)))
)
_cubes, _links = tables.cubes.c, tables.links.c
_CHAINED = select(_cubes.id).where(  # the owner's pages that have versions and continue another page
    *(_cubes[name] == bindparam(name) for name in OWNER),
    _cubes.kind == Kind.PAGE.value,
    exists().where(_versions.tenant == _cubes.tenant, _versions.cube_id == _cubes.id),
    exists().where(_links.tenant == _cubes.tenant, _links.source == _cubes.id, _links.kind == LinkKind.CHAIN.value),
)
_FROM_TO = _STORED.where(*_MINE, _versions.version.between(bindparam("first"), bindparam("last")))
_ALL = _STORED.where(*_MINE).order_by(_versions.cube_id, _versions.version)
_NO_CHAIN = ('"chain_summary":""', '"chain_written":""')
_DROP = delete(tables.versions).where(*_MINE)
_REVISED = (
    _events.tenant == bindparam("of_tenant"),
    _events.cube_id.in_(bindparam("ids", expanding=True)),
    _events.operation == Operation.REVISE.value,
    _events.detail.is_not(None),
)
_TOLD = select(_events.sequence, _events.detail).where(*_REVISED)
_TELL = update(tables.events).where(_events.sequence == bindparam("of_sequence"))
_PACK = update(tables.versions).where(*(column == bindparam(f"of_{column.name}") for column in _KEY))


class StoredVersion(NamedTuple):
    """The row of an earlier version."""

    cube_id: str
    version: int
    document: str  #: empty if it is packed
    checksum: int | None  #: of the document, also if it is packed
    packed: bytes | None  #: the difference to another version
    base: int | None  #: the number of that one; None: to nothing


def removal_detail(numbers: Sequence[int]) -> str:
    """What the event of a removal tells: the first and the last of the versions."""
    return json.dumps({"versions_removed": [numbers[0], numbers[-1]]})


def last_removed(detail: str) -> int:
    """The last version of `removal_detail`; 0 if it tells something else."""
    return int(json.loads(detail).get("versions_removed", [0])[-1])


def leaving(links: Iterable[Link]) -> list[str]:
    """The pages that leave their segments if these links go."""
    return [link.source for link in links if link.kind is LinkKind.MEMBER_OF]


def whole_documents(rows: Sequence[Any]) -> dict[int, str]:
    """The documents of all versions of one cube, by number; of one that cannot be restored, an empty text."""
    found = dict[int, str]()
    for row in sorted(rows, key=lambda one: one.version, reverse=True):  # a base is always newer
        found[row.version] = row.document if row.packed is None else _restored(row, found)
    return found


class VersionPart:
    """The earlier versions of one owner's cubes, within one transaction."""

    def __init__(self, connection: Connection, owner: dict[str, str]) -> None:
        self._connection = connection
        self._owner = owner
        self._tenant = owner["tenant"]
        self._ledger = Ledger(connection, owner)

    def pack(self, ids: Iterable[str]) -> None:
        """Store what is whole as a difference to the next newer version; the newest one stays whole.

        What is more than `CHARS_AT_ONCE` stays as it is until its cube is changed again.
        """
        each = self._of_each(_WHOLE, ids)
        pairs = [(row, newer) for stored in each for newer, row in pairwise(stored[:MOST_AT_ONCE])]
        before = accumulate((len(row.document) for row, _ in pairs), initial=0)  # packed with those before
        some = [pair for pair, chars in zip(pairs, before, strict=False) if chars < CHARS_AT_ONCE]
        self._write(changed for row, newer in some if (changed := _packed_row(row, newer)))

    def let_go(self, doomed: Mapping[str, Collection[int]]) -> None:
        """Store those versions in another way that are differences to some that will be removed."""
        for bases in self._of_each(_BASES, doomed):
            gone = doomed[bases[0].cube_id]
            left = [row.version for row in bases if row.base in gone and row.version not in gone]
            wanted = _read_for(left, {row.version: row.base for row in bases})
            for stored in self._of_each(_NUMBERED, [bases[0].cube_id], numbers=wanted) if left else ():
                self._write(_rebased(stored, left))

    def numbered(self, cube_id: str, numbers: Collection[int]) -> list[StoredVersion]:
        """Those of these versions of a cube that are kept, whole; the text of one that cannot be restored is empty.

        No more is read than lies between them, and what the last of them is a difference to.
        """
        for last in (max(numbers) + WHOLE_EACH, MOST_VERSIONS):  # more only where a difference goes further
            span = {"first": min(numbers), "last": last}
            stored = [row for rows in self._of_each(_FROM_TO, [cube_id], **span) for row in rows]
            known = whole_documents(stored)
            found = [row._replace(document=known[row.version]) for row in stored if row.version in numbers]
            if all(row.document for row in found):
                break
        return found

    def drop_topics(self, pages: Iterable[str], *, stay: bool = False) -> bool:
        """Remove the earlier versions of the segments that pages leave, or lose versions in; whether words went.

        Their summaries may quote the pages, and so may what callers said of them. So the versions of a segment never
        tell of a page that it does not have, and whoever removes a page finds all of them. The reasons go also if the
        versions went before. The versions of pages lose what an older program kept of their chains, unless the pages
        `stay` in the store.
        """
        found = 0
        for chunk in chunks(pages):
            found += 0 if stay else self._unchain()
            told = self._connection.execute(_TOPICS, {"of_tenant": self._tenant, "ids": chunk}).scalars()
            if topics := list(dict.fromkeys(told)):
                mine = {"of_tenant": self._tenant, "ids": topics}
                found += self._connection.execute(_DROP, mine).rowcount
                found += self._drop_reasons(self._connection.execute(_TOLD, mine).all())
        return found > 0

    def telling(self) -> list[str] | None:
        """The pages with versions that tell of a chain; None if the owner's versions were seen to.

        All pages of the owner are looked through: to walk along the chain of each page that goes takes longer.
        """
        if self._ledger.note(UNCHAINED) is not None:
            return None
        told = self._connection.execute(_CHAINED, self._owner).scalars().all()
        some = (told[start : start + PAGES_AT_ONCE] for start in range(0, len(told), PAGES_AT_ONCE))
        each = (stored for pages in some for stored in self._of_each(_ALL, pages))
        return [stored[0].cube_id for stored in each if any(_unchained(stored))]

    def unchain(self, pages: Iterable[str]) -> int:
        """Take out of the versions of pages what they tell of their chains; returns how many versions told of it."""
        changed = 0
        for stored in self._of_each(_ALL, pages):
            rows = list(_unchained(stored))
            self._write(rows)
            changed += len(rows)
        return changed

    def end_chains(self) -> None:
        """Note that no version of the owner's tells of a chain."""
        self._ledger.write_note(UNCHAINED, "1")

    def _unchain(self) -> int:
        """See to it now, if nobody did before there was a transaction."""
        told = self.telling()
        if told is None:
            return 0
        self.end_chains()
        return self.unchain(told)

    def _drop_reasons(self, told: Iterable[Any]) -> int:
        silent = ((sequence, _without_reason(detail), detail) for sequence, detail in told)
        values = [{"of_sequence": one, "detail": left} for one, left, detail in silent if left != detail]
        if values:
            self._connection.execute(_TELL, values)
        return len(values)

    def _of_each(self, query: Any, ids: Iterable[str], **others: Any) -> Iterator[list[StoredVersion]]:
        for chunk in chunks(ids):
            rows = self._connection.execute(query, {"of_tenant": self._tenant, "ids": chunk, **others}).all()
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


def _without_reason(detail: str) -> str | None:
    """What an event tells of a version, without what its caller said; None if that cannot be read: it has to go."""
    try:
        author = dict(json.loads(detail).items())
        return detail if author.pop("reason", None) is None else json.dumps(author)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


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
    packed = packed_version(row.version, row.document, newer.version, newer.document)
    return packed and row._replace(document="", checksum=packed.checksum, packed=packed.data, base=packed.base)


def _unchained(stored: Sequence[StoredVersion]) -> Iterator[StoredVersion]:
    """The sound versions of a page, whole and without what they tell of its chain, if one of them tells of it."""
    known = whole_documents(stored)
    sound = [row for row in stored if known[row.version] and checksum.is_text_sound(known[row.version], row.checksum)]
    told = {row.version: _alone(known[row.version]) for row in sound}
    if any(document != known[number] for number, document in told.items()):
        for row in sound:  # a damaged one keeps its checksum, which shows that
            document = told[row.version]
            yield row._replace(document=document, checksum=checksum.of_text(document), packed=None, base=None)


def _alone(document: str) -> str:
    if all(one in document for one in _NO_CHAIN):
        return document
    try:
        return to_json(alone(from_json(document)))
    except InvalidInput:
        return document


def _read_for(numbers: Iterable[int], bases: Mapping[int, int | None]) -> list[int]:
    """The versions that these are restored from, and they themselves: no more than `WHOLE_EACH` for each."""
    found = dict[int, None]()
    for number in numbers:
        known: int | None = number
        while known is not None and known not in found:
            found[known] = None
            known = bases.get(known)
    return list(found)


def _rebased(stored: Sequence[StoredVersion], numbers: Collection[int]) -> Iterator[StoredVersion]:
    documents = whole_documents(stored)
    for row in stored:
        if row.version in numbers:
            yield row._replace(packed=delta(documents[row.version], None), base=None)


def _is_sound(row: StoredVersion) -> bool:
    return checksum.is_text_sound(row.document, row.checksum)
