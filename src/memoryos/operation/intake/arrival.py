"""Arrival: stores new pages exactly once, even if the connection or the caller fails.

With a key, the transaction that stores the pages also stores their ids under the key, so that a repeated call finds
them. The ids are not derived from the key, because they contain the time, and their order is the order of pages of the
same time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from memoryos.cube import MemCube
from memoryos.errors import KeyReused, OutcomeUnknown, StorageError
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import Entry
from memoryos.operation.hierarchy.mid_term import page_of
from memoryos.scope import Scope

ADDED = Note("add:", as_json(list[str]), has_many=True)  # the ids of the pages of one call, by its key


@dataclass(frozen=True, slots=True)
class Arrival:
    """The new pages of one call, and the caller's key."""

    vault: Vault
    owner: Scope
    pages: Sequence[MemCube]
    key: str | None

    def known(self) -> list[str] | None:
        """The ids of earlier pages with this key. Raises KeyReused if they stored a different dialogue."""
        if self.key is None:
            return None
        with self.vault.read(self.owner) as reader:
            return self._earlier(reader)

    def store(self, entries: Sequence[Entry]) -> list[str]:
        """Store the pages, unless another call with the key was faster; return the ids of the stored pages.

        If the outcome of a commit is unknown, check whether it landed, and retry if not. Raises OutcomeUnknown if that
        fails, too.
        """
        entries = [entry.prepared for entry in entries]
        try:
            with self.vault.write(self.owner) as writer:
                return self._insert(writer, entries)
        except OutcomeUnknown as error:
            return self._settled(entries, error)

    def _settled(self, entries: Sequence[Entry], cut: OutcomeUnknown) -> list[str]:
        """The result of the first try, whose session has ended once this one holds the owner's lock."""
        ids = [page.id for page in self.pages]
        try:
            with self.vault.write(self.owner) as writer:
                return ids if writer.added(ids) else self._insert(writer, entries)
        except StorageError as error:
            raise OutcomeUnknown(f"{cut} Calling again is safe with the same idempotency_key.") from error

    def _insert(self, writer: Writer, entries: Sequence[Entry]) -> list[str]:
        if self.key is not None and (earlier := self._earlier(writer)) is not None:
            return earlier
        writer.insert(entries)
        ids = [page.id for page in self.pages]
        if self.key is not None:
            writer.write_note(ADDED.key + _hash(self.key), json.dumps(ids))
        return ids

    def _earlier(self, reader: Reader) -> list[str] | None:
        ids = None if self.key is None else ADDED.of(reader, _hash(self.key))
        if ids is None:
            return None
        present = reader.get(ids)
        both = zip(self.pages, (present.get(cube_id) for cube_id in ids), strict=False)
        if len(ids) != len(self.pages) or not all(_is_told_again(new, _first(reader, old)) for new, old in both if old):
            raise KeyReused
        return ids


def _hash(key: str) -> str:
    """What a key is noted by: a hash, because a key may be long or name somebody."""
    return blake2b(key.encode(), digest_size=16).hexdigest()


def _first(reader: Reader, page: MemCube) -> MemCube:
    """The page as it was first stored."""
    return page if page.version.number == 1 else reader.history(page.id)[0]


def _is_told_again(new: MemCube, old: MemCube) -> bool:
    """Whether both come from the same call; an unstated time is the time of the call."""
    unstated = new.descriptive.recorded_at
    times = zip((turn.at for turn in page_of(new).turns), (turn.at for turn in page_of(old).turns), strict=False)
    return _call(new) == _call(old) and all(at in (known, unstated) for at, known in times)


def _call(page: MemCube) -> tuple[object, ...]:
    turns = tuple(replace(turn, at=None) for turn in page_of(page).turns)
    known = page.descriptive
    return turns, known.tags, known.metadata, known.title, known.source, known.origin, page.scope.session
