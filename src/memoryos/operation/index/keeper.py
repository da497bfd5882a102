"""Keeper: saves the indexes of large owners beside the store, so that the next process can load them.

What is kept stands for the store as it was after a certain event of the owner's log. It is used when the log has the
same event under that number, so that it is of the same history, whatever file it lies beside; when what happened
since is followed faster than the store is read; and when no page lost words since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memoryos.clock import micros
from memoryos.distribution import VERSION
from memoryos.infrastructure.vault.contract import Reader, Vault
from memoryos.infrastructure.vault.index_files import Bundle, IndexFiles
from memoryos.infrastructure.vault.records import Event, Operation
from memoryos.kinds import Kind
from memoryos.models.embedder import Embedder
from memoryos.scope import Scope

FOLLOWED = 10_000  # events that an index follows, at least; those of a large one are more: `followed`

_ROWS_AN_EVENT = 2  # rows that are read from the store in the time in which one event is followed, at most

_FORMAT = 4  # of what the arrays mean

_LOSSES = {Operation.DELETE, Operation.REVISE, Operation.REFRESH}  # of a page: words may be gone


@dataclass(frozen=True, slots=True)
class Kept:
    """An index as arrays, and the number of its latest event."""

    sequence: int
    arrays: Mapping[str, Any]
    rows: int
    since: Sequence[Event] = ()  #: what happened since, as the reader sees it who found it


def followed(rows: int) -> int:
    """The most events that an index of that size applies; beyond that, reading the store again is faster."""
    return max(FOLLOWED, rows // _ROWS_AN_EVENT)


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
        """Return the saved index of the owner if it is usable; remove one that never will be."""
        if self._files is None:
            return None
        told: list[Mapping[str, Any]] = []
        since: list[Event] = []

        def is_wanted(about: Mapping[str, Any]) -> bool:
            told.append(about)
            if about.get("format") != _format() or not self._is_of(about, reader):
                return False
            since.extend(reader.events(after=about["sequence"], limit=followed(about["rows"]) + 1))
            return not _lost_words(since, about["rows"])

        bundle = self._files.read(owner, is_wanted)
        if bundle is not None:
            return Kept(bundle.about["sequence"], bundle.arrays, bundle.about["rows"], since)
        is_ahead = bool(told) and told[0].get("sequence", 0) > reader.sequence()  # the reader began before
        if not is_ahead and not self.vault.is_only_read:
            self._files.remove(owner)
        return None

    def write(self, owner: Scope, kept: Kept) -> bool:
        """Save an index; return whether it is saved now."""
        if self._files is None or self.vault.is_only_read:
            return False
        with self.vault.read(owner) as reader:
            about = self._about(reader, kept.sequence, kept.rows)
        is_kept = about is not None and self._files.write(owner, Bundle(about, kept.arrays))
        with self.vault.read(owner) as reader:
            events = reader.events(after=kept.sequence, limit=followed(kept.rows) + 1)
            if is_kept and _lost_words(events, kept.rows):
                self._files.remove(owner)  # the page was deleted while its words were written
                is_kept = False
        return is_kept

    def _is_of(self, about: Mapping[str, Any], reader: Reader) -> bool:
        """Whether an index belongs to the history that the reader sees."""
        sequence = about["sequence"]
        return sequence <= reader.sequence() and about == self._about(reader, sequence, about["rows"])

    def _about(self, reader: Reader, sequence: int, rows: int) -> dict[str, Any] | None:
        """The data about an index up to that event of the log; None if there is no such event."""
        found = reader.events(after=sequence - 1, limit=1)
        if not found or found[0].sequence != sequence:
            return None
        last = found[0]
        return {
            "format": _format(),
            "embedder": [self.embedder.name, self.embedder.dim, self.lexicon.name, self.lexicon.dim],
            "sequence": sequence,
            "rows": rows,
            "event": [micros(last.at), last.operation.value, last.cube_id, last.version],
        }


def _format() -> list[Any]:
    return [_FORMAT, VERSION]


def _lost_words(events: Sequence[Event], rows: int) -> bool:
    """Whether a page lost words in these events, or there are too many of them."""
    lost = any(event.kind is Kind.PAGE and event.operation in _LOSSES for event in events)
    return lost or len(events) > followed(rows)
