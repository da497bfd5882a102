"""References to bytes in the object store: blob:SHA256/SIZE."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from memoryos.regex import regex

_URI = regex("blob:([0-9a-f]{64})/([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class BlobRef:
    """Names bytes by their content."""

    sha256: str
    size: int  #: bytes

    @classmethod
    def of(cls, data: bytes) -> Self:
        """The reference to these bytes."""
        return cls(sha256(data).hexdigest(), len(data))

    @classmethod
    def read(cls, uri: str | None) -> Self | None:
        """The reference in a URI; None for any other URI."""
        found = _URI.fullmatch(uri) if uri else None
        return cls(found[1], int(found[2])) if found else None

    @property
    def uri(self) -> str:
        """The reference as a URI."""
        return f"blob:{self.sha256}/{self.size}"
