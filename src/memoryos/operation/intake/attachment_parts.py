"""Attachment parts: the image, sound or file in a part of a message becomes an attachment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoryos.cube import Attachment
from memoryos.errors import InvalidInput
from memoryos.operation.attachments.data_url import data_url, is_data_url

HOLDERS = ("image_url", "source", "file", "input_audio", "image")  # the fields of a part that hold what is attached
_ADDRESSES, _CONTENTS = ("url", "file_id"), ("data", "file_data", "base64")
_BYTES = bytes | bytearray | memoryview
_FIX = "Pass a URL, base64 text or bytes"


def attachment_of(kind: str, part: Mapping[str, Any], place: str) -> Attachment:
    """Return the attachment of a part of that type. Raises InvalidInput for bytes that would be lost."""
    held = part
    if holder := next((name for name in HOLDERS if part.get(name)), None):
        place = f"{place}.{holder}"
        held = _held(part[holder], place)
    media = held.get("media_type") or held.get("mime_type") or held.get("format")
    uri = _uri(held, media, place)
    if uri is None:
        _refuse_bytes(held, place)
    caption = part.get("caption") or part.get("alt") or held.get("filename") or kind.removeprefix("input_")
    return Attachment(
        caption=str(caption).removesuffix("_url"), uri=uri, media_type=None if media is None else str(media)
    )


def _held(value: Any, place: str) -> Mapping[str, Any]:
    """The fields of what a part holds; a text is a URL, and bytes are the content."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str | _BYTES):
        raise _unfit(place, value)
    return {"url" if isinstance(value, str) else "data": value}


def _uri(held: Mapping[str, Any], media: Any, place: str) -> str | None:
    for name in (*_ADDRESSES, *_CONTENTS):
        value = held.get(name)
        if isinstance(value, _BYTES):
            return data_url(value, media)
        if isinstance(value, str):
            return value if name in _ADDRESSES or is_data_url(value) else data_url(value, media)
        if value is not None:
            raise _unfit(f"{place}.{name}", value)
    return None


def _unfit(place: str, value: object) -> InvalidInput:
    return InvalidInput(place, f"expected a URL or bytes, got {type(value).__name__}", _FIX)


def _refuse_bytes(held: Mapping[str, Any], place: str) -> None:
    for name, value in held.items():
        if isinstance(value, _BYTES):
            fix = f"Pass the bytes in one of these fields: {', '.join(HOLDERS)}"
            raise InvalidInput(f"{place}.{name}", "has bytes, but is not a known field", fix)
