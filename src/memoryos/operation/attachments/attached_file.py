"""Attached files: what was sent along with a page, as a reader sees it."""

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
    """Something sent along with a page: bytes that the store keeps, or a URL."""

    caption: str
    id: str | None  #: sha256 of the bytes, for `pages.attachment`; None of a URL
    media_type: str | None
    size: int | None  #: bytes; None of a URL
    url: str | None  #: where it is, when the store does not keep it
    turn: int  #: index in the page of the turn that it came with


@dataclass(frozen=True, slots=True)
class FileBytes(Plain):
    """The bytes of an attached file."""

    id: str  #: sha256 of the bytes
    media_type: str | None
    data: bytes


def files_of(cube: MemCube) -> tuple[AttachedFile, ...]:
    """The files of a page; a cube of another kind has none."""
    return tuple(_file(one, turn) for turn, one in _attachments(cube))


def bytes_in(cube: MemCube, wanted: str) -> bytes | None:
    """The bytes with that sha256 where they stand in the page itself, as older programs stored them."""
    for _, one in _attachments(cube):
        if (data := _own_bytes(one)) is not None and BlobRef.of(data).sha256 == wanted:
            return data
    return None


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
