"""Pages: the dialogue, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from memoryos import arguments
from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.infrastructure.vault.selection import Selection
from memoryos.kinds import Kind, Tier
from memoryos.listing import Listing
from memoryos.nouns.noun import Noun
from memoryos.nouns.selecting import listed, selection
from memoryos.operation.attachments.attached_file import AttachedFile, FileBytes, files_of
from memoryos.operation.attachments.parcels import bytes_of
from memoryos.operation.calls.door import door


@door
class Pages(Noun):
    """The dialogue pages of one owner."""

    def list(
        self,
        *,
        tier: Tier | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        **only: Unpack[arguments.PageFilters],
    ) -> Listing[MemCube]:
        """The dialogue pages of a tier (all when none is named), in the order in which they came in.

        With a `limit`, so many at most; the `cursor` of the list gives the next ones. Pages that come or go meanwhile
        make it neither skip nor repeat another. `since` and `until` bound when a page was said (both included);
        `session`, `speaker` and `role` say where and by whom, and `tags` and `filters` are as in `search`.
        """
        with self._engine.settled(self._scope) as reader:
            return listed(reader, self._selection(tier, **only), limit, cursor)

    def count(self, *, tier: Tier | None = None, **only: Unpack[arguments.PageFilters]) -> int:
        """How many pages there are; the filters are as in `list`."""
        with self._engine.settled(self._scope) as reader:
            return reader.counted(self._selection(tier, **only))

    def _selection(self, tier: Tier | None, **only: Unpack[arguments.PageFilters]) -> Selection:
        tiers = [] if tier is None else [arguments.one_of("tier", tier, Tier)]
        return selection(Kind.PAGE, self._engine.clock(), tiers=tiers, **only)

    def attachments(self, page_id: str) -> Sequence[AttachedFile]:
        """What was sent along with a page: its caption, media type, and size or URL. Raises NotFound."""
        return files_of(self._page(page_id))

    def attachment(self, page_id: str, id: str) -> FileBytes:  # noqa: A002 - the name of the field
        """The bytes of an attachment of a page, by its id. Raises NotFound, also for one that is only a URL.

        Raises StoreCorrupt when the bytes are missing or altered in the object store, ObjectsUnreachable.
        """
        page = self._page(page_id)
        wanted = arguments.cube_id(id, field="id")
        return bytes_of(self._engine.vault, self._scope, page, wanted)

    def _page(self, page_id: str) -> MemCube:
        wanted = arguments.cube_id(page_id, field="page_id")
        with self._engine.settled(self._scope) as reader:
            page = reader.one(wanted)
        if page is None or page.kind is not Kind.PAGE:
            raise NotFound(f"there is no page {wanted!r} in this scope")
        return page
