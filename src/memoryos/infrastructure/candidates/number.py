"""Numbers in the place of texts, in indexes that need not hold them."""

from __future__ import annotations

from hashlib import blake2b


def number_of(text: str, secret: bytes = b"") -> int:
    """The number of a text, of 64 bits; two texts share one as good as never.

    With a secret, of up to 64 bytes, nobody without it can tell what the number of a text is.
    """
    return int.from_bytes(blake2b(text.encode(), digest_size=8, key=secret).digest())
