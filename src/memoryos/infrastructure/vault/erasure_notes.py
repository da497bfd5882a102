"""Erasure notes: what a store records in `meta` for receipts: the key that signs them, and where copies of it are."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, delete, select

from memoryos.infrastructure.vault import tables
from memoryos.plain import Plain

_KEY = "receipt key"
_COPIES = "copied to:"  # before the place of a copy
_BEHIND = "copied to;"  # the first key behind all of them

_meta = tables.meta


@dataclass(frozen=True, slots=True)
class KnownCopy(Plain):
    """A backup or a copy that was made of a store."""

    place: str  #: its file, or its URL without a password
    made_at: datetime  #: when it was made, or made last


def signing_key(connection: Connection) -> bytes | None:
    """The key that signs receipts; None if there is none yet."""
    value: str | None = connection.scalar(select(_meta.c.value).where(_meta.c.key == _KEY))
    return None if value is None else bytes.fromhex(value)


def make_signing_key(connection: Connection) -> bytes:
    """Make the key, unless another process was faster; returns it."""
    known = signing_key(connection)
    if known is None:
        known = secrets.token_bytes(32)
        connection.execute(_meta.insert(), {"key": _KEY, "value": known.hex()})
    return known


def note_copy(connection: Connection, place: str, at: datetime) -> None:
    """Record that a copy was made, and drop the records of files that are gone."""
    gone = [one.place for one in _copies(connection) if not _may_exist(one.place)]
    keys = [_COPIES + one for one in (*gone, place)]
    connection.execute(delete(_meta).where(_meta.c.key.in_(keys)))
    connection.execute(_meta.insert(), {"key": _COPIES + place, "value": at.isoformat()})


def known_copies(connection: Connection) -> list[KnownCopy]:
    """The copies that may still be there, by place."""
    return [one for one in _copies(connection) if _may_exist(one.place)]


def _copies(connection: Connection) -> Iterator[KnownCopy]:
    query = select(_meta.c.key, _meta.c.value).where(_meta.c.key >= _COPIES, _meta.c.key < _BEHIND)
    for key, value in connection.execute(query.order_by(_meta.c.key)).all():
        yield KnownCopy(key.removeprefix(_COPIES), datetime.fromisoformat(value))


def _may_exist(place: str) -> bool:
    """Whether a copy is there, as far as this machine can tell."""
    return "://" in place or Path(place).exists()
