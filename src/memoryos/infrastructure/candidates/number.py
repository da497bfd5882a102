"""Numbers that stand for texts in indexes that do not store the texts."""

from __future__ import annotations

from hashlib import blake2b


def number_of(text: str, secret: bytes = b"") -> int:
    """The 64-bit number of a text; collisions are practically impossible.

    With a secret of up to 64 bytes, the number cannot be computed without the secret.
    """
    return int.from_bytes(blake2b(text.encode(), digest_size=8, key=secret).digest())
