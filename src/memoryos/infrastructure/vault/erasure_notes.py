"""Erasure notes: what a store records in `meta` for receipts: the key that signs them, and where copies of it are."""

from __future__ import annotations

import json
import secrets
import socket
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
    made_at: datetime  #: when it was begun, or begun last
    machine: str  #: the name of the machine that made it, and that has the file

    @property
    def may_exist(self) -> bool:
        """Whether it is there, as far as this machine can tell: it sees its own files alone."""
        return "://" in self.place or self.machine != socket.gethostname() or Path(self.place).exists()


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
    """Record that this machine makes a copy, and drop the records of its files that are gone."""
    made = KnownCopy(place, at, socket.gethostname())
    gone = [one for one in _copies(connection) if not one.may_exist]
    connection.execute(delete(_meta).where(_meta.c.key.in_([_key(one) for one in (*gone, made)])))
    told = json.dumps([made.machine, made.place, made.made_at.isoformat()])
    connection.execute(_meta.insert(), {"key": _key(made), "value": told})


def known_copies(connection: Connection) -> list[KnownCopy]:
    """The copies that may still be there, by place."""
    found = (one for one in _copies(connection) if one.may_exist)
    return sorted(found, key=lambda one: (one.place, one.machine))


def _copies(connection: Connection) -> Iterator[KnownCopy]:
    query = select(_meta.c.value).where(_meta.c.key >= _COPIES, _meta.c.key < _BEHIND)
    for value in connection.execute(query).scalars().all():
        machine, place, made_at = json.loads(value)
        yield KnownCopy(place, datetime.fromisoformat(made_at), machine)


def _key(copy: KnownCopy) -> str:
    return f"{_COPIES}{copy.machine}:{copy.place}"
