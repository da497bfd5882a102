"""Segments: the topics of MTM and of the archive."""

from __future__ import annotations

from memoryos import arguments
from memoryos.kinds import Kind, Tier
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.nouns.selecting import listed, selection
from memoryos.operation.calls.door import door
from memoryos.operation.recall import overview
from memoryos.operation.recall.overview import SegmentView


@door
class Segments(Noun):
    """The segments of one owner."""

    def list(
        self, *, archive: bool = False, limit: int | None = None, cursor: str | None = None
    ) -> Listing[SegmentView]:
        """List the segments of MTM, or of the archive, with their current heat, hottest first.

        `limit` bounds the length of the list, and the `cursor` of a list returns the next part. With either, the order
        is that of creation, because heat changes between calls.
        """
        settings, now = self._engine.settings, self._engine.clock()
        wanted = selection(Kind.SEGMENT, now, tiers=_tiers(archive=archive))
        with self._engine.settled(self._scope) as reader:
            some = listed(reader, wanted, limit, cursor)
            views = overview.views_of(reader, some, settings, now)
        is_whole = limit is None and cursor is None
        return Listing(sorted(views, key=lambda view: -view.heat) if is_whole else views, some.cursor)

    def count(self, *, archive: bool = False) -> int:
        """Return the number of segments. A damaged one, which `list` leaves out, counts."""
        wanted = selection(Kind.SEGMENT, self._engine.clock(), tiers=_tiers(archive=archive))
        with self._engine.settled(self._scope) as reader:
            return reader.counted(wanted)


def _tiers(*, archive: bool) -> tuple[Tier, ...]:
    return (Tier.MTM, Tier.ARCHIVE) if arguments.flag("archive", archive) else (Tier.MTM,)
