"""SealedObjects: an object store in which only sealed objects lie, under names that tell nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO

from memoryos.errors import StoreCorrupt
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.encryption.sealed_stream import PIECE, UnsealedReader, sealed, unsealed
from memoryos.infrastructure.objects.fixed_bytes import fixed
from memoryos.infrastructure.objects.object_store import Objects


@dataclass(frozen=True, slots=True)
class SealedObjects:
    """Seals objects on their way into another object store."""

    inner: Objects
    key: DataKey

    def put(self, name: str, data: bytes) -> None:
        """Seal and store the bytes."""
        self.inner.put(self.key.hidden(name), sealed(self.key, name, data))

    def get(self, name: str) -> bytes | None:
        """Return the bytes; None if there is no such object. Raises StoreCorrupt if it was altered."""
        data = self.inner.get(self.key.hidden(name))
        with _opening(name):
            return None if data is None else unsealed(self.key, name, data)

    def view(self, name: str) -> memoryview | None:
        """Return the bytes, large ones as fixed bytes, into which it is opened piece by piece. Raises StoreCorrupt."""
        data = self.inner.get(self.key.hidden(name))
        if data is None:
            return None
        with _opening(name):
            reader = UnsealedReader(BytesIO(data), len(data), self.key, name)
            known = fixed(reader.size, partial(_written, reader))
            return memoryview(unsealed(self.key, name, data)) if known is None else known

    def remove(self, name: str) -> None:
        """Remove an object, if it exists."""
        self.inner.remove(self.key.hidden(name))


def under(key: DataKey | None, objects: Objects) -> Objects:
    """The objects as a store with that key has them; without a key, as they are."""
    return SealedObjects(objects, key) if key else objects


def _written(reader: UnsealedReader, number: int) -> int:
    with os.fdopen(number, "wb", buffering=PIECE, closefd=False) as file:
        while piece := reader.read(PIECE):
            file.write(piece)
    return reader.tell()


@contextmanager
def _opening(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError:
        problem = f"the object {name} was altered, or is sealed with another key"
        raise StoreCorrupt(f"{problem}: restore the object from a copy") from None
