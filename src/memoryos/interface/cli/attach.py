"""Attachments of the command line: a file or a URL."""

from __future__ import annotations

from collections.abc import Sequence
from mimetypes import guess_type
from pathlib import Path
from urllib.parse import urlsplit

from memoryos.cube import Attachment
from memoryos.errors import InvalidInput
from memoryos.operation.attachments.data_url import data_url


def attachments_of(places: Sequence[str] | None, most: int) -> tuple[Attachment, ...]:
    """The attachments; a file is read if it has at most that many bytes. Raises InvalidInput."""
    return tuple(_of_url(one) if "://" in one else _of_file(Path(one), most) for one in places or ())


def _of_url(url: str) -> Attachment:
    path = urlsplit(url).path
    return Attachment(caption=path.rsplit("/", 1)[-1] or url, uri=url, media_type=guess_type(path)[0])


def _of_file(path: Path, most: int) -> Attachment:
    data = _read(path, most)
    if len(data) > most:
        fix = "Pass its URL, or raise MEMORYOS_MAX_ATTACHMENT_BYTES"
        raise InvalidInput("--attach", f"{path} has more than {most:,} bytes", fix)
    media_type = guess_type(path.name)[0]
    return Attachment(caption=path.name, uri=data_url(data, media_type), media_type=media_type)


def _read(path: Path, most: int) -> bytes:
    """The bytes of a file, at most one more than allowed."""
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except (OSError, ValueError) as error:
        raise InvalidInput("--attach", f"{path}: {type(error).__name__}", "Name a file, or a URL") from None
