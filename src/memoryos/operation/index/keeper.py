"""Keeper: keeps the indexes of large owners beside the store, so that the next process reads them in one piece.

What is kept stands for the store as it was after a certain event of the owner's log. It is used when the log has the
same event under that number, so that it is of the same history, whatever file it lies beside; when little happened
since, which is then followed as always; and when no page lost words since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from memoryos.clock import micros
from memoryos.cube import Kind
from memoryos.infrastructure.vault.contract import Event, Operation, Reader, Vault
from memoryos.infrastructure.vault.index_files import Bundle, IndexFiles
from memoryos.models.embedder import Embedder
from memoryos.scope import Scope

FOLLOWED = 10_000  # events since then; after more it is simpler to read all anew

_FORMAT = 1  # of what the arrays mean

_LOSSES = {Operation.DELETE, Operation.REVISE, Operation.REFRESH}  # of a page: words may be gone


@dataclass(frozen=True, slots=True)
class Kept:
    """An index as arrays, and the number of the event that it stands for."""

    sequence: int
    arrays: Mapping[str, Any]


@dataclass(frozen=True)
class Keeper:
    """The kept indexes of one store."""

    vault: Vault
    embedder: Embedder
    lexicon: Embedder

    @property
    def _files(self) -> IndexFiles | None:
        return self.vault.index_files

    def read(self, owner: Scope, reader: Reader) -> Kept | None:
        """What is kept of the owner, if it serves; what can serve nobody any more is removed."""
        if self._files is None:
            return None
        told: list[Mapping[str, Any]] = []

        def is_wanted(about: Mapping[str, Any]) -> bool:
            told.append(about)
            return self._serves(about, reader)

        bundle = self._files.read(owner, is_wanted)
        if bundle is not None:
            return Kept(bundle.about["sequence"], bundle.arrays)
        is_ahead = bool(told) and told[0].get("sequence", 0) > reader.sequence()  # the reader began before
        if not is_ahead and not self.vault.is_only_read:
            self._files.remove(owner)
        return None

    def write(self, owner: Scope, kept: Kept) -> bool:
        """Keep an index; returns whether it is kept now."""
        if self._files is None or self.vault.is_only_read:
            return False
        with self.vault.read(owner) as reader:
            about = self._about(reader, kept.sequence)
        is_kept = about is not None and self._files.write(owner, Bundle(about, kept.arrays))
        with self.vault.read(owner) as reader:
            if is_kept and self._lost_words(reader.events(after=kept.sequence, limit=FOLLOWED + 1)):
                self._files.remove(owner)  # the page was deleted while its words were written
                is_kept = False
        return is_kept

    def _serves(self, about: Mapping[str, Any], reader: Reader) -> bool:
        sequence = about["sequence"]
        if sequence > reader.sequence() or about != self._about(reader, sequence):
            return False
        return not self._lost_words(reader.events(after=sequence, limit=FOLLOWED + 1))

    def _about(self, reader: Reader, sequence: int) -> dict[str, Any] | None:
        """What an index says of itself that stands for the log up to that event; None when there is no such event."""
        found = reader.events(after=sequence - 1, limit=1)
        if not found or found[0].sequence != sequence:
            return None
        last = found[0]
        return {
            "format": [_FORMAT, version("memoryos")],
            "embedder": [self.embedder.name, self.embedder.dim, self.lexicon.name, self.lexicon.dim],
            "sequence": sequence,
            "event": [micros(last.at), last.operation.value, last.cube_id, last.version],
        }

    @staticmethod
    def _lost_words(events: Sequence[Event]) -> bool:
        """Whether a page lost words in these events, or so many are there that nobody looks."""
        lost = any(event.kind is Kind.PAGE and event.operation in _LOSSES for event in events)
        return lost or len(events) > FOLLOWED
