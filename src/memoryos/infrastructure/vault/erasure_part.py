"""ErasurePart: what a store records in `meta` for receipts: the key that signs them, and where copies of it are."""

from __future__ import annotations

import json
import logging
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from glob import escape
from pathlib import Path

from sqlalchemy import Connection, delete, func, select

from memoryos.clock import Clock
from memoryos.errors import StorageError
from memoryos.infrastructure.vault import tables
from memoryos.infrastructure.vault.forgotten_list import ForgottenList, Subject
from memoryos.infrastructure.vault.owner_part import traces
from memoryos.infrastructure.vault.owners import told_owners
from memoryos.infrastructure.vault.records import Operation
from memoryos.kinds import Kind
from memoryos.plain import Plain
from memoryos.scope import Scope

_KEY = "receipt key"
_COPIES = "copied to:"  # before the place of a copy
_BEHIND = "copied to;"  # the first key behind all of them

_meta, _events = tables.meta, tables.events

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownCopy(Plain):
    """A backup or a copy that was made of a store."""

    place: str  #: its file, or its URL without a password
    made_at: datetime  #: when it was begun, or begun last
    machine: str  #: the name of the machine that made it, and that has the file
    not_noted: str | None = None  #: why a restore of it brings back what was forgotten; None: it forgets it again

    @property
    def may_exist(self) -> bool:
        """Whether it is there, as far as this machine can tell: it sees its own files alone."""
        return self.is_away or _is_there(Path(self.place))

    @property
    def is_away(self) -> bool:
        """Whether it is a database, or a file of another machine."""
        return "://" in self.place or self.machine != socket.gethostname()


@dataclass(frozen=True, slots=True)
class ErasurePart:
    """The records of one store for receipts."""

    place: str  #: of the store: a file or a URL
    clock: Clock
    snapshot: Callable[[], AbstractContextManager[Connection]]  #: of the whole store
    change: Callable[[], AbstractContextManager[Connection]]  #: a transaction on the whole store

    def signing_key(self) -> bytes | None:
        """The key that signs receipts; None if there is none yet."""
        with self.snapshot() as connection:
            return _signing_key(connection)

    def make_signing_key(self) -> bytes:
        """The key that signs receipts; made if there is none yet."""
        if (known := self.signing_key()) is not None:
            return known
        with self.change() as connection:
            if (theirs := _signing_key(connection)) is not None:  # another process was faster
                return theirs
            made = secrets.token_bytes(32)
            connection.execute(_meta.insert(), {"key": _KEY, "value": made.hex()})
            return made

    def known_copies(self) -> list[KnownCopy]:
        """The backups and copies of this store that may still be there, without itself; by place."""
        own = self.place if "://" in self.place else str(Path(self.place).resolve())
        with self.snapshot() as connection:
            found = [one for one in _copies(connection) if one.may_exist and one.place != own]
        return sorted(found, key=lambda one: (one.place, one.machine))

    def owners(self) -> list[Scope]:
        """The owners, of every tenant, of whom the store has more than deletion records."""
        with self.snapshot() as connection:
            return sorted(told_owners(connection.execute(traces(None, None))), key=repr)

    def erased_since(self, sequence: int) -> tuple[int, set[Scope]]:
        """The last event of the store, and the owners, of every tenant, who lost memories after the given event."""
        owner = [_events.c[name] for name in tables.OWNER]
        lost = (_events.c.operation == Operation.DELETE.value, _events.c.kind != Kind.SEGMENT.value)
        with self.snapshot() as connection:
            latest = connection.scalar(select(func.max(_events.c.sequence))) or 0
            if latest <= sequence:
                return latest, set()
            found = connection.execute(select(*owner).where(_events.c.sequence > sequence, *lost).distinct())
            return latest, set(told_owners(found))

    def note_forgotten(self, subject: Subject) -> tuple[KnownCopy, ...]:
        """Note beside each backup on this machine that a subject was forgotten, so that a restore forgets it again.

        Returns the known copies; those beside which nothing could be written tell why.
        """
        key = self.make_signing_key()
        return tuple(replace(one, not_noted=self._noted(one, subject, key)) for one in self.known_copies())

    def _noted(self, copy: KnownCopy, subject: Subject, key: bytes) -> str | None:
        """Why it could not be noted; None if it was."""
        if copy.is_away:
            return "it is not a file of this machine"
        try:
            ForgottenList(Path(copy.place)).add(subject, self.clock(), key)
        except OSError as error:
            name = type(error).__name__
            logger.warning("erasure not noted: %s", name, extra={"action": "forget", "error": name})
            return error.strerror or name
        return None

    def note_copy(self, place: str) -> None:
        """Record that this machine makes a copy, and drop the records of its files that are gone.

        A store that cannot be written records nothing.
        """
        made = KnownCopy(place, self.clock(), socket.gethostname())
        told = json.dumps([made.machine, made.place, made.made_at.isoformat()])
        try:
            self.make_signing_key()  # what is forgotten later is noted beside the copy, under this key
            with self.change() as connection:
                gone = [one for one in _copies(connection) if not one.may_exist]
                connection.execute(delete(_meta).where(_meta.c.key.in_([_key(one) for one in (*gone, made)])))
                connection.execute(_meta.insert(), {"key": _key(made), "value": told})
        except StorageError as error:
            logger.warning(
                "copy not recorded: %s", type(error).__name__, extra={"action": "copy", "error": type(error).__name__}
            )


def _is_there(file: Path) -> bool:
    """Whether there is a file, or a link, or a backup that is being written to it."""
    is_begun = False
    try:
        is_begun = any(file.parent.glob(f"{escape(file.name)}.*.partial"))  # first: it gets its name when it is whole
        file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return is_begun
    except OSError:  # nobody can tell
        return True
    return True


def _signing_key(connection: Connection) -> bytes | None:
    value: str | None = connection.scalar(select(_meta.c.value).where(_meta.c.key == _KEY))
    return None if value is None else bytes.fromhex(value)


def _copies(connection: Connection) -> Iterator[KnownCopy]:
    query = select(_meta.c.value).where(_meta.c.key >= _COPIES, _meta.c.key < _BEHIND)
    for value in connection.execute(query).scalars().all():
        machine, place, made_at = json.loads(value)
        yield KnownCopy(place, datetime.fromisoformat(made_at), machine)


def _key(copy: KnownCopy) -> str:
    return f"{_COPIES}{copy.machine}:{copy.place}"
