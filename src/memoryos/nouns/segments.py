"""Segments: the topics of MTM and of the archive."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Unpack

from memoryos import arguments
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Tier
from memoryos.listing import Listing
from memoryos.nouns.looking_back import LookBack, looked_back
from memoryos.nouns.noun import Noun
from memoryos.nouns.selecting import holding, listed, selection
from memoryos.operation.calls.door import door
from memoryos.operation.hierarchy.mid_term import formed, top_keywords
from memoryos.operation.hierarchy.redescribe import in_order
from memoryos.operation.hierarchy.told_topics import ended_topics, told_topics
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
        as_of: datetime | str | None = None,
        **only: Unpack[arguments.PageFilters],
    ) -> Listing[SegmentView]:
        """List the segments of MTM, or of the archive, with their current heat, hottest first.

        `limit` bounds the length of the list, and the `cursor` of a list returns the next part. With either, the order
        is that of creation, because heat changes between calls. The filters are those of `pages.list`: a segment is
        listed if one of its pages passes them. With `as_of` (a moment, or the name of a snapshot), the segments are
        those of now, with the pages that there were then, and described from these; their heat is that of now.
        """
        then = looked_back(self._engine, self._scope, as_of)
        settings, now = self._engine.settings, self._engine.clock()
        wanted, pages = self._selections(then, archive=archive, **only)
        with self._engine.settled(self._scope) as reader:
            if pages is None:
                some = listed(reader, wanted, limit, cursor)
            else:
                some = holding(reader, wanted, limit, cursor, pages=pages, then=then)
            shown = told_topics(reader, some)
            views = overview.views_of(reader, shown, settings, now)
            if then is not None:
                known = [cube for cube in shown if cube in some]  # no earlier version of what is told anew
                told = then.cubes(reader, known) if then.snapshot else ()
                versions = {cube.id: cube for cube in told}
                views = [_as_it_was(reader, view, then, versions.get(view.cube.id, view.cube)) for view in views]
        is_whole = limit is None and cursor is None
        return Listing(sorted(views, key=lambda view: -view.heat) if is_whole else views, some.cursor)

    def count(
        self, *, archive: bool = False, as_of: datetime | str | None = None, **only: Unpack[arguments.PageFilters]
    ) -> int:
        """Return the number of segments; the filters are those of `list`.

        Without a filter, a damaged one, which `list` leaves out, counts.
        """
        then = looked_back(self._engine, self._scope, as_of)
        wanted, pages = self._selections(then, archive=archive, **only)
        with self._engine.settled(self._scope) as reader:
            if pages is not None:
                return len(holding(reader, wanted, pages=pages, then=then))
            return reader.counted(wanted) - len(ended_topics(reader, _tiers(archive=archive)))

    def _selections(
        self, then: LookBack | None, *, archive: bool, **only: Unpack[arguments.PageFilters]
    ) -> tuple[Selection, Selection | None]:
        """The segments asked for, and the pages of which they have to hold one; None if any will do."""
        now = self._engine.clock()
        is_narrow = then is not None or any(value is not None for value in only.values())
        pages = selection(Kind.PAGE, now, **only) if is_narrow else None
        return selection(Kind.SEGMENT, now, tiers=_tiers(archive=archive)), pages


def _as_it_was(reader: Reader, view: SegmentView, then: LookBack, version: MemCube) -> SegmentView:
    """The segment with the pages that there were then, described from them if these are not its pages of now.

    If they are, it is the version of then.
    """
    now = reader.get(view.page_ids)
    pages = then.cubes(reader, now.values())
    if [one.payload for one in pages] == [one.payload for one in now.values()]:
        return replace(view, cube=version)
    payload = formed(in_order({page.id: page for page in pages}))
    cube = replace(view.cube, payload=payload, descriptive=replace(view.cube.descriptive, derived_by=None))
    return replace(view, cube=cube, keywords=top_keywords(payload), page_ids=tuple(page.id for page in pages))


def _tiers(*, archive: bool) -> tuple[Tier, ...]:
    return (Tier.MTM, Tier.ARCHIVE) if arguments.flag("archive", archive) else (Tier.MTM,)
