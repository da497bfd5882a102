"""Data URLs: bytes as chat APIs pass them, in a text."""

from __future__ import annotations

import base64
import binascii
import re
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from memoryos.errors import InvalidInput
from memoryos.regex import regex

_FORM = regex(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)
_FIX = "Write data:image/png;base64,... or pass the URL of the file"
_ANY_TYPE = "application/octet-stream"
_PIECE = 1 << 20  # characters of base64 that are read at a time: whole groups of four


def is_data_url(value: object) -> bool:
    """Whether the value is a data URL."""
    return isinstance(value, str) and value[:5].lower() == "data:"


def data_url(data: Any, media_type: Any = None) -> str:
    """Bytes, or base64 text, as a data URL."""
    text = base64.b64encode(data).decode() if isinstance(data, bytes | bytearray | memoryview) else data
    return f"data:{media_type or _ANY_TYPE};base64,{text}"


def decoded(url: str, field: str) -> tuple[bytes, str | None]:
    """The bytes of a data URL, and their media type. Raises InvalidInput."""
    found = _FORM.match(url)
    if found is None:
        raise InvalidInput(field, "is not a data URL", _FIX)
    if ";base64" not in found[2].lower():
        return unquote_to_bytes(url[found.end() :]), found[1] or None
    try:
        if "%" in url:
            return from_base64(unquote_to_bytes(url[found.end() :]).decode("ascii")), found[1] or None
        return from_base64(url, found.end()), found[1] or None
    except (binascii.Error, ValueError):
        raise InvalidInput(field, "is not base64", _FIX) from None


def from_base64(text: str, begin: int = 0) -> bytes:
    """The bytes of the base64 from `begin` on, read in pieces so that a large text is not copied. Raises ValueError."""
    padding = text.find("=", begin)
    last = begin + max((len(text) if padding < 0 else padding) - begin - 1, 0) // 4 * 4  # the group that may be padded
    found = BytesIO()
    for at in range(begin, last, _PIECE):
        found.write(base64.b64decode(text[at : min(at + _PIECE, last)], validate=True))
    found.write(base64.b64decode(text[last:], validate=True))
    return found.getvalue()
