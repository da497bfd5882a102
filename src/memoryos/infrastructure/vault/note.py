"""Note: what is known of an owner under a key of the table `notes`. Each value is checked here when it is read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.vault import checksum

T = TypeVar("T")


class NoteReader(Protocol):
    """Reads the notes of one owner."""

    def note(self, key: str) -> str | None:
        """Return the note under that key, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Note(Generic[T]):
    """One note, or all notes whose keys begin alike."""

    key: str
    reading: Callable[[str], T]  #: of its text; it raises an error of Python for what no program writes
    has_many: bool = False  #: whether more follows the key
    table: str = "notes"  #: where it lies

    def of(self, reader: NoteReader, rest: str = "") -> T | None:
        """The note of the reader's owner, or None. Raises StoreCorrupt."""
        text = reader.note(self.key + rest)
        return None if text is None else self.read(text, rest)

    def read(self, text: str, rest: str = "") -> T:
        """The value of a text. Raises StoreCorrupt, which names the note and does not quote it."""
        with suppress(LookupError, ValueError, TypeError, OverflowError):
            return self.reading(text)
        told = checksum.shown(self.key + rest)
        raise StoreCorrupt(
            f"the note {told!r} of the table {self.table} is damaged: run `memoryos verify`, or restore from a backup"
        )

    def is_damaged(self, key: str, text: str) -> bool:
        """Whether it is this note, with a value that no program writes."""
        if not (key.startswith(self.key) if self.has_many else key == self.key):
            return False
        try:
            self.read(text)
        except StoreCorrupt:
            return True
        return False


def as_json(shape: type[T]) -> Callable[[str], T]:
    """Read JSON of that type."""

    @cache
    def adapter() -> TypeAdapter[T]:  # when it is needed, because it takes long to make
        return TypeAdapter(shape)

    return lambda text: adapter().validate_json(text, strict=True)
