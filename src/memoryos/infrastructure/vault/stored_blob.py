"""Records of blobs, as sessions read and write them; see `blobs`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """Bytes in the object store."""

    name: str  #: of the object
    sha256: str
    size: int  #: bytes
    media_type: str | None = None


class BlobNotes(Protocol):
    """The blob records of one owner's session."""

    def holders(self, shas: Iterable[str]) -> dict[str, list[str]]:
        """Return the ids of the owner's cubes that refer to these blobs, by sha256."""
        ...

    def kept(self, shas: Iterable[str]) -> dict[str, StoredBlob]:
        """The blobs among these that a cube refers to, by sha256."""
        ...

    def unused(self, names: Collection[str] | None = None) -> list[StoredBlob]:
        """The blobs, all or those with these names, that were put or begun and to which no cube refers."""
        ...

    def named_by(self, cube_ids: Iterable[str]) -> set[str]:
        """The sha256 of the blobs that these cubes refer to."""
        ...

    def begin(self, blobs: Sequence[StoredBlob], *, remove_at: datetime) -> None:
        """Record blobs before their bytes are uploaded; recorded blobs to which no cube refers are removed later."""
        ...

    def stored(self, names: Collection[str], *, remove_at: datetime) -> None:
        """Note that the bytes of these blobs lie in the object store; until a cube refers to them, they go later."""
        ...

    def next_removal(self) -> datetime | None:
        """The time of the next removal of bytes; None if there is none."""
        ...
