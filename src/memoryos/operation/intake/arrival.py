"""Arrival: new pages go into the store once, whatever becomes of the connection or of the caller.

With a key, the ids of the pages are noted under it in the transaction that stores them, so that a call which is
repeated finds them. The ids themselves are not made of the key: time is in them, and what was said at one moment is
told in their order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from memoryos.cube import MemCube
from memoryos.errors import InvalidInput, OutcomeUnknown, StorageError
from memoryos.infrastructure.vault.contract import Reader, Vault, Writer
from memoryos.infrastructure.vault.records import Entry
from memoryos.operation.hierarchy.mid_term import page_of
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Arrival:
    """The new pages of one call, and the key that the caller gave it."""

    vault: Vault
    owner: Scope
    pages: Sequence[MemCube]
    key: str | None

    def known(self) -> list[str] | None:
        """The ids of the pages that came with this key before. Raises InvalidInput when they said something else."""
        if self.key is None:
            return None
        with self.vault.read(self.owner) as reader:
            return self._earlier(reader)

    def store(self, entries: Sequence[Entry]) -> list[str]:
        """Put the pages into the store, unless another call with the key was faster; returns the ids of what is there.

        A commit whose end nobody heard is looked up, and made good. Raises OutcomeUnknown when that fails, too.
        """
        try:
            with self.vault.write(self.owner) as writer:
                return self._insert(writer, entries)
        except OutcomeUnknown as error:
            return self._settled(entries, error)

    def _settled(self, entries: Sequence[Entry], cut: OutcomeUnknown) -> list[str]:
        """What the first try would have returned. Its session is over when this one writes: it had the owner's lock."""
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
            writer.write_note(_note(self.key), json.dumps(ids))
        return ids

    def _earlier(self, reader: Reader) -> list[str] | None:
        noted = None if self.key is None else reader.note(_note(self.key))
        if noted is None:
            return None
        ids: list[str] = json.loads(noted)
        present = reader.get(ids)
        both = zip(self.pages, (present.get(cube_id) for cube_id in ids), strict=False)
        if len(ids) != len(self.pages) or not all(_is_told_again(new, _first(reader, old)) for new, old in both if old):
            raise InvalidInput(
                "idempotency_key", "was used for a different dialogue", "Give each call a key of its own"
            )
        return ids


def _note(key: str) -> str:
    """What the key is noted under: it may be long, and may name somebody."""
    return f"add:{blake2b(key.encode(), digest_size=16).hexdigest()}"


def _first(reader: Reader, page: MemCube) -> MemCube:
    """The page as it came in."""
    return page if page.version.number == 1 else reader.history(page.id)[0]


def _is_told_again(new: MemCube, old: MemCube) -> bool:
    """Whether both came from the same call; a time that the caller did not state is that of the call."""
    unstated = new.descriptive.recorded_at
    times = zip((turn.at for turn in page_of(new).turns), (turn.at for turn in page_of(old).turns), strict=False)
    return _call(new) == _call(old) and all(at in (known, unstated) for at, known in times)


def _call(page: MemCube) -> tuple[object, ...]:
    turns = tuple(replace(turn, at=None) for turn in page_of(page).turns)
    known = page.descriptive
    return turns, known.tags, known.metadata, known.title, known.source, known.origin, page.scope.session
