"""Signing: HMAC-SHA256 signatures of records, and marks of content that leaves the store.

The key lies in the store: whoever has the store can check a signature, and could write one. It tells that a record came
from this store and was not changed since; it is no proof against the store's operator.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from memoryos.plain import Plain

MARK_FORMAT = "memoryos-mark-1"
CHAINED_CHARS = 32  # of the mark of a line, in hexadecimal: 128 bits


@dataclass(frozen=True, slots=True)
class ContentMark(Plain):
    """Signed provenance of a text that a model wrote with a memory."""

    at: datetime  #: when it was written
    by: str  #: identity of the caller who asked for it
    tenant: str  #: tenant of the user on whose memory it rests
    user: str  #: user on whose memory it rests
    model: str  #: name of the model
    sources: tuple[str, ...]  #: ids of the memories that the model was shown
    sha256: str  #: SHA-256 of the text
    format: str = MARK_FORMAT  #: name of the format of this record
    key: str = field(default="", compare=False)  #: which key signed it: the beginning of its hash
    signature: str = field(default="", compare=False)  #: HMAC-SHA256 of all other fields, in hexadecimal

    def signed(self, key: bytes) -> ContentMark:
        """The mark with its signature."""
        named = replace(self, key=key_name(key), signature="")
        return replace(named, signature=signature_of(named.to_dict(), key))


def is_mark(told: object) -> bool:
    """Whether these fields are those of a ContentMark."""
    return isinstance(told, dict) and told.keys() == {one.name for one in fields(ContentMark)}


def is_signed(told: Mapping[str, Any], key: bytes) -> bool:
    """Whether this key signed the fields as they are."""
    known = ascii(told["signature"])[1:-1].encode()
    return hmac.compare_digest(signature_of(told, key).encode(), known)


def signature_of(told: Mapping[str, Any], key: bytes) -> str:
    """The signature of the fields of a record."""
    unsigned = {name: value for name, value in told.items() if name != "signature"}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), sha256).hexdigest()


def chained_mark(before: str, text: str, key: bytes) -> str:
    """The mark of a line that follows a line with the mark `before`."""
    return hmac.new(key, f"{before}\n{text}".encode("utf-8", "surrogatepass"), sha256).hexdigest()[:CHAINED_CHARS]


def watermark_key(key: bytes) -> bytes:
    """The key of the watermark in words of a local model, made from the key of signatures: it tells nothing of it."""
    return hmac.new(key, b"memoryos-watermark-1", sha256).digest()


def hash_of(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def key_name(key: bytes) -> str:
    """The name of a key, which does not tell the key."""
    return sha256(key).hexdigest()[:16]
