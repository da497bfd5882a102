"""SealedKeys: the data keys of one store, sealed with the key of the user.

They lie beside the store, in a file with `.sealed` behind its name. A random master key seals them, and each user key
that opens the store seals the master key in a slot. So another user key needs another slot, and the store stays as it
is.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.encryption.data_key import KEY_BYTES, DataKey
from memoryos.infrastructure.encryption.encryption_key import EncryptionKey

FORMAT = "memoryos sealed keys 1"
_NONCE = 12
_SALT = 32

Form = DataKey | None  # how a store is written: with a key, or None: in clear


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The data keys of a store, and those of a change that is under way."""

    current: Form
    stale: tuple[Form, ...] = ()  #: in which objects may be left, which are to be removed
    coming: Form = None  #: that of the draft
    draft: str | None = None  #: the name of the file that a change writes and will put in the place of the store
    objects: tuple[str, ...] = ()  #: that a change found: one that is erased afterwards may be left in another form

    def to_dict(self) -> dict[str, Any]:
        """The ring as JSON has it."""
        stale = [_text(form) for form in self.stale]
        return {
            "current": _text(self.current),
            "stale": stale,
            "coming": _text(self.coming),
            "draft": self.draft,
            "objects": list(self.objects),
        }

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Self:
        """The ring in JSON."""
        stale = tuple(_form(one) for one in told["stale"])
        objects = tuple(told.get("objects", ()))  # earlier programs did not note them
        return cls(_form(told["current"]), stale, _form(told["coming"]), told["draft"], objects)


@dataclass(frozen=True, slots=True)
class SealedKeys:
    """A key ring, its master key, and the slots that open it."""

    ring: KeyRing
    salt: bytes
    slots: tuple[bytes, ...]
    master: bytes = field(repr=False)

    @classmethod
    def new(cls, ring: KeyRing, key: EncryptionKey) -> Self:
        """A ring under a new master key, which that key alone opens."""
        salt, master = secrets.token_bytes(_SALT), secrets.token_bytes(KEY_BYTES)
        return cls(ring, salt, (_seal(key.wrapping(salt), master),), master)

    @classmethod
    def opened(cls, data: bytes, key: EncryptionKey) -> Self | None:
        """The keys in a file; None if the key does not open them. Raises StoreCorrupt."""
        told = _read(data)
        try:
            salt, slots = b64decode(told["salt"]), tuple(b64decode(one) for one in told["slots"])
            master = next(_opened(key.wrapping(salt), slots), None)
            if master is None:
                return None
            (ring,) = _opened(master, [b64decode(told["ring"])])  # ValueError if it was changed
            return cls(KeyRing.from_dict(json.loads(ring)), salt, slots, master)
        except (ValueError, KeyError, TypeError) as error:
            raise StoreCorrupt(f"the sealed keys are damaged ({type(error).__name__}): restore their file") from None

    def to_bytes(self) -> bytes:
        """The content of their file."""
        ring = _seal(self.master, json.dumps(self.ring.to_dict()).encode())
        told = {
            "format": FORMAT,
            "encrypted": self.ring.current is not None,
            "salt": b64encode(self.salt).decode(),
            "slots": [b64encode(one).decode() for one in self.slots],
            "ring": b64encode(ring).decode(),
        }
        return json.dumps(told, indent=1).encode() + b"\n"

    def with_ring(self, ring: KeyRing) -> Self:
        """The same master key and slots with another ring."""
        return replace(self, ring=ring)

    def with_slot(self, key: EncryptionKey) -> Self:
        """The same with another key that opens them."""
        return replace(self, slots=(*self.slots, _seal(key.wrapping(self.salt), self.master)))


def says_encrypted(data: bytes) -> bool:
    """Whether the store is encrypted, as far as its key file tells without a key. Raises StoreCorrupt."""
    return _read(data).get("encrypted") is not False


def slots_in(data: bytes) -> int:
    """How many keys open the file. Raises StoreCorrupt."""
    slots = _read(data).get("slots")
    return len(slots) if isinstance(slots, list) else 0


def _read(data: bytes) -> dict[str, Any]:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        raise StoreCorrupt("the file of the sealed keys is damaged: restore it") from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise StoreCorrupt("the file of the sealed keys is not one that this program reads")
    return told


def _seal(key: bytes, data: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(key).encrypt(nonce, data, FORMAT.encode())


def _opened(key: bytes, sealed: Iterable[bytes]) -> Iterator[bytes]:
    """What of this the key opens."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    for one in sealed:
        try:
            yield AESGCM(key).decrypt(one[:_NONCE], one[_NONCE:], FORMAT.encode())
        except InvalidTag:
            continue


def _text(form: Form) -> str | None:
    return form.secret.hex() if form else None


def _form(text: str | None) -> Form:
    return DataKey(bytes.fromhex(text)) if text is not None else None
