"""Pages: the dialogue, page by page."""

from __future__ import annotations

from collections.abc import Sequence

from memoryos import arguments
from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.kinds import Kind, Tier
from memoryos.nouns.noun import Noun
from memoryos.operation.attachments.attached_file import AttachedFile, FileBytes, files_of
from memoryos.operation.attachments.parcels import bytes_of
from memoryos.operation.calls.door import door
from memoryos.operation.recall.overview import lasting


@door
class Pages(Noun):
    """The dialogue pages of one owner."""

    def list(self, *, tier: Tier | None = None) -> Sequence[MemCube]:
        """The dialogue pages of a tier (all when none is named) that have not expired, oldest first."""
        tiers = [] if tier is None else [arguments.one_of("tier", tier, Tier)]
        with self._engine.settled(self._scope) as reader:
            return lasting(reader.cubes(Kind.PAGE, tiers=tiers), self._engine.clock())

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
