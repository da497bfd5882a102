"""Departure: a large segment leaves MTM first, and its pages follow it to the archive some at a time.

To move a page is to write its document, so a segment of 1,000 pages would take 90 ms under the lock at once. A note
names the segments whose pages are on their way, so the next step goes on after a crash. Until then these pages are in
MTM, and are found as such.
"""

from __future__ import annotations

import json

from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.note import Note, as_json
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Tier
from memoryos.operation.hierarchy.changes import Changes

DEPARTURES = Note("departures", as_json(dict[str, str]))  # the page that followed last, by segment


class Departure:
    """The segments of one owner that left MTM before their pages."""

    def __init__(self, reader: Reader, changes: Changes) -> None:
        self._reader = reader
        self._changes = changes
        self._last = DEPARTURES.of(reader) or {}

    def __bool__(self) -> bool:
        """Whether pages are on their way."""
        return bool(self._last)

    def begin(self, segment_id: str, last: str) -> None:
        """Let the pages of a segment behind the `last` one follow it later."""
        self._last[segment_id] = last
        self._write()

    def go_on(self, limit: int) -> int:
        """Move up to so many pages that are on their way, of one segment; return how many."""
        if not self:
            return 0
        segment_id, last = next(iter(self._last.items()))
        pages = [link.source for link in self._reader.sources([segment_id], LinkKind.MEMBER_OF)]
        first = pages.index(last) + 1 if last in pages else 0  # somebody deleted it, or moved it to another segment
        some = pages[first : first + limit]
        if first + limit < len(pages):
            self._last[segment_id] = some[-1]
        else:
            del self._last[segment_id]
        self._write()
        moved = [cube for cube in self._changes.get(some) if cube.tier is Tier.MTM and not cube.is_frozen]
        self._changes.move(moved, Tier.ARCHIVE)
        return len(moved)

    def _write(self) -> None:
        self._changes.note(DEPARTURES.key, json.dumps(self._last))
