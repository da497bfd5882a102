"""Pages: the dialogue, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Unpack

from memoryos import arguments
from memoryos.caller import concerns
from memoryos.cube import MemCube
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Tier
from memoryos.listing import Listing
from memoryos.nouns.looking_back import looked_back
from memoryos.nouns.noun import Noun
from memoryos.nouns.selecting import counted, listed, selection
from memoryos.operation.attachments.attached_file import AttachedFile, FileBytes, files_of
from memoryos.operation.attachments.parcels import bytes_of
from memoryos.operation.calls.door import door
from memoryos.operation.correction.swept import swept_among


@door
class Pages(Noun):
    """The dialogue pages of one owner."""

    def list(
        self,
        *,
        tier: Tier | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: datetime | str | None = None,
        latest: bool = False,
        segment: str | None = None,
        **only: Unpack[arguments.PageFilters],
    ) -> Listing[MemCube]:
        """List the dialogue pages of a tier (default: all tiers), in the order in which they were added.

        With `latest`, the page that was added last comes first.

        `limit` bounds the length of the list, and the `cursor` of a list returns the next part; pages that are added or
        deleted in between neither repeat nor skip others. `since` and `until` bound when a page was said, both
        included. `session`, `speaker` and `role` select by session and by who spoke. `tags` and `filters` work as in
        `search`. `segment` (an id) lists the pages of one topic. `as_of` (a moment, or the name of a snapshot) lists
        the pages as they were then, in the tier and the topic where they are now. With `tier`, the call first waits
        until the pages that were just added have moved to their tiers; without it, they may still be in STM. Raises
        NotFound if there is no such segment.
        """
        then, is_latest = looked_back(self._engine, self._scope, as_of), arguments.flag("latest", latest)
        with self._read(tier) as reader:
            wanted = self._selection(reader, tier, segment, **only)
            return listed(reader, wanted, limit, cursor, then, is_latest=is_latest)

    def count(
        self,
        *,
        tier: Tier | None = None,
        as_of: datetime | str | None = None,
        segment: str | None = None,
        **only: Unpack[arguments.PageFilters],
    ) -> int:
        """Return the number of pages; the filters are those of `list`, and so is the wait with `tier`.

        The documents are read only for a filter that needs them. So a damaged one, which `list` leaves out, may count.
        """
        then = looked_back(self._engine, self._scope, as_of)
        with self._read(tier) as reader:
            return counted(reader, self._selection(reader, tier, segment, **only), then)

    def _read(self, tier: Tier | None) -> AbstractContextManager[Reader]:
        """A reader; who asks for a tier first waits until every page is in its own."""
        return self._present() if tier is None else self._engine.settled(self._scope)

    @contextmanager
    def _present(self) -> Iterator[Reader]:
        """Read what the caller may read, wherever its pages lie: some may wait to be moved."""
        engine = self._engine
        engine.responder.wait()
        engine.housekeeping.met(self._scope)
        with engine.housekeeping.call(), engine.vault.view(self._scope.owner) as reader:
            yield reader

    def _selection(
        self, reader: Reader, tier: Tier | None, segment: str | None, **only: Unpack[arguments.PageFilters]
    ) -> Selection:
        if segment is not None:  # who may not read the topic must not learn which pages are in it
            found = reader.one(arguments.cube_id(segment, field="segment"))
            if found is None or found.kind is not Kind.SEGMENT:
                raise NotFound(f"there is no segment {segment!r} of this user and agent")
        tiers = [] if tier is None else [arguments.tier(tier, "pages", Tier.STM, Tier.MTM, Tier.ARCHIVE)]
        return selection(Kind.PAGE, self._engine.clock(), tiers=tiers, segment=segment, **only)

    def swept(self, source_ids: Sequence[str]) -> Sequence[str]:
        """Of these message ids (`source_id`), return those whose pages expired and were removed.

        An import leaves them out.
        """
        wanted = arguments.ids("source_ids", source_ids)
        with self._present() as reader:
            return swept_among(reader, wanted)

    def attachments(self, page_id: str) -> Listing[AttachedFile]:
        """List the attachments of a page: caption, media type, and size or URL. Raises NotFound."""
        return Listing(files_of(self._page(page_id)))

    def attachment(self, page_id: str, id: str) -> FileBytes:  # noqa: A002 - the name of the field
        """Return the bytes of an attachment, by the ids of its page and of itself.

        Raises NotFound, also for an attachment that is only a URL; StoreCorrupt if the bytes in the object store are
        missing or altered; ObjectsUnreachable if the object store does not answer.
        """
        if id is None:
            problem = "is None, as that of an attachment that is a URL"
            raise InvalidInput("id", problem, "Read its `url`; only attachments with an id have bytes in the store")
        page = self._page(page_id)
        wanted = arguments.cube_id(id, field="id")
        return bytes_of(self._engine.vault, self._scope, page, wanted)

    def _page(self, page_id: str) -> MemCube:
        wanted = arguments.cube_id(page_id, field="page_id")
        with self._present() as reader:
            page = reader.one(wanted)
        if page is None or page.kind is not Kind.PAGE or page.has_expired(self._engine.clock()):
            raise NotFound(f"there is no page {wanted!r} of this user and agent")
        concerns(self._scope.owner, page.id, page.kind)
        return page
