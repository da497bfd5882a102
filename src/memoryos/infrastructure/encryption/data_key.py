"""DataKey: the random key that encrypts a store; each use gets a key of its own, derived from it."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

KEY_BYTES = 32


def derived(secret: bytes, purpose: bytes, salt: bytes | None = None) -> bytes:
    """A key for one purpose (HKDF-SHA256)."""
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), KEY_BYTES, salt=salt, info=purpose).derive(secret)


@dataclass(frozen=True, slots=True)
class DataKey:
    """The key of one store; `repr` does not show it."""

    secret: bytes = field(repr=False)

    @classmethod
    def random(cls) -> Self:
        """A new key."""
        return cls(secrets.token_bytes(KEY_BYTES))

    def of_database(self) -> bytes:
        """The key of SQLCipher."""
        return derived(self.secret, b"memoryos database 1")

    def of_file(self, name: str, salt: bytes) -> bytes:
        """The key of one file or object; the name is part of it, so that no file can stand for another."""
        return derived(self.secret, b"memoryos file 1 " + name.encode(), salt)

    def hidden(self, name: str) -> str:
        """The name on the disk for a file or object, which tells nothing about its content or owner."""
        return hmac.new(derived(self.secret, b"memoryos name 1"), name.encode(), sha256).hexdigest()
