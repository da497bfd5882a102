"""Attached files: the attachments of a page as a reader sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memoryos.cube import Attachment, MemCube, Page
from memoryos.errors import InvalidInput
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.operation.attachments.data_url import decoded, is_data_url
from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class AttachedFile(Plain):
    """An attachment of a page: bytes in the store, or a URL."""

    caption: str  #: what searches find it by
    id: str | None  #: sha256 of the bytes, for `pages.attachment`; None for a URL
    media_type: str | None  #: for example image/png, if known
    size: int | None  #: bytes; None for a URL
    url: str | None  #: the URL, if the store does not have the bytes
    turn: int  #: index of its turn in the page


@dataclass(frozen=True, slots=True)
class FileBytes(Plain):
    """The bytes of an attachment."""

    id: str  #: sha256 of the bytes
    media_type: str | None  #: for example image/png, if known
    data: bytes  #: the content


def files_of(cube: MemCube) -> tuple[AttachedFile, ...]:
    """Return the attachments of a page; other cubes have none."""
    return tuple(_file(one, turn) for turn, one in _attachments(cube))


def bytes_in(cube: MemCube, wanted: str) -> bytes | None:
    """Return the bytes with that sha256 from the page itself, where older programs stored them."""
    return next((data for sha, data in all_bytes_in(cube) if sha == wanted), None)


def all_bytes_in(cube: MemCube) -> Iterator[tuple[str, bytes]]:
    """The bytes that an older program stored in the page itself, each behind its sha256."""
    for _, one in _attachments(cube):
        if (data := _own_bytes(one)) is not None:
            yield BlobRef.of(data).sha256, data


def _attachments(cube: MemCube) -> Iterator[tuple[int, Attachment]]:
    turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
    return ((number, one) for number, turn in enumerate(turns) for one in turn.attachments)


def _file(one: Attachment, turn: int) -> AttachedFile:
    data = _own_bytes(one)
    ref = BlobRef.of(data) if data is not None else BlobRef.read(one.uri)
    url = None if ref else one.uri
    sha, size = (ref.sha256, ref.size) if ref else (None, None)
    return AttachedFile(one.caption, sha, one.media_type, size, url, turn)


def _own_bytes(one: Attachment) -> bytes | None:
    if one.uri is None or not is_data_url(one.uri):
        return None
    try:
        return decoded(one.uri, "uri")[0]
    except InvalidInput:  # as an older program took it
        return None
