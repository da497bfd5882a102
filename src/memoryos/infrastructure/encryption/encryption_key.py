"""EncryptionKey: the key that a person keeps outside the store, and where it comes from."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from memoryos.config import Settings
from memoryos.errors import InvalidInput, MissingExtra
from memoryos.infrastructure.encryption.data_key import derived

KEY_CHARS = 32  # at least: a shorter key can be guessed
MOST_CHARS = 4_096

_SOURCES = ("encryption_key", "encryption_key_file", "encryption_keyring")


@dataclass(frozen=True, slots=True)
class EncryptionKey:
    """A checked key; `repr` does not show it."""

    text: str = field(repr=False)

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """The key from the setting that names it; None without one. Raises InvalidInput and MissingExtra."""
        named = [name for name in _SOURCES if getattr(settings, name) is not None]
        if not named:
            return None
        if len(named) > 1:
            raise InvalidInput(named[0], f"is set together with {named[1]}", "Set one of them")
        if settings.encryption_key is not None:
            return cls.checked("encryption_key", settings.encryption_key.get_secret_value())
        if settings.encryption_key_file is not None:
            return cls.in_file("encryption_key_file", settings.encryption_key_file)
        return cls.checked("encryption_keyring", _in_keyring(str(settings.encryption_keyring)))

    @classmethod
    def checked(cls, field_: str, text: str) -> Self:
        """The key. Raises InvalidInput, which does not quote it."""
        if not isinstance(text, str):
            fix = "Pass text, for example from `memoryos encryption new-key`, or the `hex()` of the bytes"
            raise InvalidInput(field_, f"expected text, got {type(text).__name__}", fix)
        if not KEY_CHARS <= len(text.strip()) <= MOST_CHARS:
            fix = "Use a random key, for example from `memoryos encryption new-key`"
            raise InvalidInput(field_, f"has fewer than {KEY_CHARS} or more than {MOST_CHARS:,} characters", fix)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInput(field_, "is not Unicode text", "Use letters and digits") from None
        return cls(text.strip())

    @classmethod
    def in_file(cls, field_: str, path: Path) -> Self:
        """The key that a file holds. Raises InvalidInput."""
        try:
            with path.expanduser().open("rb") as file:
                text = file.read(8 * MOST_CHARS).decode()
        except (OSError, RuntimeError, ValueError) as error:
            told = getattr(error, "strerror", None) or type(error).__name__
            raise InvalidInput(field_, f"{path} cannot be read: {told}", "Name a text file with the key") from None
        return cls.checked(field_, text)

    def wrapping(self, salt: bytes) -> bytes:
        """The key that seals the keys of a store."""
        return derived(self.text.encode(), b"memoryos sealed keys 1", salt)


def new_key() -> str:
    """A new random key: 43 letters, digits, - and _."""
    return secrets.token_urlsafe(32)


def _in_keyring(place: str) -> str:
    service, slash, user = place.partition("/")
    if not (service and slash and user):
        raise InvalidInput("encryption_keyring", "is not SERVICE/NAME", "Write e.g. memoryos/ann")
    try:
        import keyring
        from keyring.errors import KeyringError
    except ModuleNotFoundError as error:
        if error.name != "keyring":
            raise
        raise MissingExtra("The key in the keyring of the system", "keyring") from None
    try:
        found = keyring.get_password(service, user)
    except KeyringError as error:
        problem = f"the keyring does not answer: {type(error).__name__}"
        raise InvalidInput("encryption_keyring", problem, "Unlock it, or use encryption_key_file") from None
    if found is None:
        fix = f"Store it with: keyring set {service} {user}"
        raise InvalidInput("encryption_keyring", f"the keyring has no key for {place}", fix)
    return str(found)
