"""Data URLs: bytes as chat APIs pass them, in a text."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any
from urllib.parse import unquote_to_bytes

from memoryos.errors import InvalidInput
from memoryos.regex import regex

_FORM = regex(r"data:([^,;]*)((?:;[^,;]*)*),", re.IGNORECASE)
_FIX = "Write data:image/png;base64,... or pass the URL of the file"
_ANY_TYPE = "application/octet-stream"


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
    body = url[found.end() :]
    if ";base64" not in found[2].lower():
        return unquote_to_bytes(body), found[1] or None
    try:
        return base64.b64decode(unquote_to_bytes(body), validate=True), found[1] or None
    except (binascii.Error, ValueError):
        raise InvalidInput(field, "is not base64", _FIX) from None
