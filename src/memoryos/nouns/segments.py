"""Segments: the topics of MTM and of the archive."""

from __future__ import annotations

from typing import Unpack

from memoryos import arguments
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Tier
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.nouns.selecting import holding, listed, selection
from memoryos.operation.calls.door import door
from memoryos.operation.recall import overview
from memoryos.operation.recall.overview import SegmentView


@door
class Segments(Noun):
    """The segments of one owner."""

    def list(
        self,
        *,
        archive: bool = False,
        limit: int | None = None,
        cursor: str | None = None,
        **only: Unpack[arguments.PageFilters],
    ) -> Listing[SegmentView]:
        """List the segments of MTM, or of the archive, with their current heat, hottest first.

        `limit` bounds the length of the list, and the `cursor` of a list returns the next part. With either, the order
        is that of creation, because heat changes between calls. The filters are those of `pages.list`: a segment is
        listed if one of its pages passes them.
        """
        settings, now = self._engine.settings, self._engine.clock()
        wanted, pages = self._selections(archive=archive, **only)
        with self._engine.settled(self._scope) as reader:
            if pages is None:
                some = listed(reader, wanted, limit, cursor)
            else:
                some = holding(reader, wanted, limit, cursor, pages=pages)
            views = overview.views_of(reader, some, settings, now)
        is_whole = limit is None and cursor is None
        return Listing(sorted(views, key=lambda view: -view.heat) if is_whole else views, some.cursor)

    def count(self, *, archive: bool = False, **only: Unpack[arguments.PageFilters]) -> int:
        """Return the number of segments; the filters are those of `list`.

        Without a filter, a damaged one, which `list` leaves out, counts.
        """
        wanted, pages = self._selections(archive=archive, **only)
        with self._engine.settled(self._scope) as reader:
            return reader.counted(wanted) if pages is None else len(holding(reader, wanted, pages=pages))

    def _selections(
        self, *, archive: bool, **only: Unpack[arguments.PageFilters]
    ) -> tuple[Selection, Selection | None]:
        """The segments asked for, and the pages of which they have to hold one; None if any will do."""
        now = self._engine.clock()
        pages = selection(Kind.PAGE, now, **only) if any(value is not None for value in only.values()) else None
        return selection(Kind.SEGMENT, now, tiers=_tiers(archive=archive)), pages


def _tiers(*, archive: bool) -> tuple[Tier, ...]:
    return (Tier.MTM, Tier.ARCHIVE) if arguments.flag("archive", archive) else (Tier.MTM,)
