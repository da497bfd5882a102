"""Pseudonyms: personal data in encrypted form, which the holder of a key turns back.

The same text of the same user always gets the same pseudonym (AES-SIV, deterministic), so that memories about one
address stay connected and a search for it finds them. The pseudonyms of two users differ, and those of one user do not
open for another.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from binascii import Error as Base32Error
from collections.abc import Sequence
from dataclasses import dataclass, field

from memoryos.errors import InvalidInput, MissingExtra
from memoryos.privacy.sensitive import PSEUDONYM, SensitiveKind
from memoryos.scope import Scope

KEY_CHARS = 32  # at least: a shorter key can be guessed
_PURPOSE = b"memoryos privacy 1"  # part of every derived key: raise the number when the form changes


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Makes and opens the pseudonyms of one store."""

    _key: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: str | None) -> Pseudonyms:
        """Derive the key from `privacy_key`. Raises InvalidInput and MissingExtra."""
        if secret is None:
            raise InvalidInput(
                "privacy_key", "is not set", f"Set MEMORYOS_PRIVACY_KEY to {KEY_CHARS} random characters"
            )
        if len(secret) < KEY_CHARS:
            raise InvalidInput("privacy_key", f"has fewer than {KEY_CHARS} characters", "Use a longer random key")
        try:
            from cryptography.hazmat.primitives.hashes import SHA512
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF
        except ImportError:
            raise MissingExtra("privacy_key", "privacy") from None
        return cls(HKDF(SHA512(), 64, salt=None, info=_PURPOSE).derive(secret.encode()))

    def hidden(self, kind: SensitiveKind, text: str, owner: Scope) -> str:
        """Return the pseudonym of a text."""
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        sealed = AESSIV(self._key).encrypt(text.encode(), _bound_to(kind, owner))
        return f"⟨{kind.value}:{b32encode(sealed).decode().lower().rstrip('=')}⟩"

    def revealed(self, text: str, owner: Scope) -> str:
        """Return the text with the owner's pseudonyms turned back; others stay.

        Raises InvalidInput if there are pseudonyms, and none of them opens.
        """
        places = list(PSEUDONYM.finditer(text))
        opened = [self._opened(SensitiveKind(one[1]), one[2], owner) for one in places]
        if places and not any(one is not None for one in opened):
            fix = "Open the store with the key that it was written with, and ask the memory of the user who wrote it"
            raise InvalidInput("privacy_key", "does not open the pseudonyms of this text", fix)
        pieces, at = [], 0
        for place, known in zip(places, opened, strict=True):
            pieces += [text[at : place.start()], place[0] if known is None else known]
            at = place.end()
        return "".join([*pieces, text[at:]])

    def _opened(self, kind: SensitiveKind, sealed: str, owner: Scope) -> str | None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        try:
            data = b32decode(sealed.upper() + "=" * (-len(sealed) % 8))
            return AESSIV(self._key).decrypt(data, _bound_to(kind, owner)).decode()
        except (InvalidTag, Base32Error):
            return None


def _bound_to(kind: SensitiveKind, owner: Scope) -> Sequence[bytes]:
    return [kind.value.encode(), owner.tenant.encode(), owner.user.encode()]
