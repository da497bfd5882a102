"""Blobs: the bytes of one store's attachments, in its object store or in a folder beside its file.

The name of an object holds the sha256 of its bytes, and a number of its own, so that no name is used twice: an object
can be removed without asking whether the same bytes were put again meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from uuid_utils.compat import uuid7

from memoryos.errors import ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.objects.object_store import Folder, Objects, open_objects, settle
from memoryos.infrastructure.objects.sealed_objects import under

_SUFFIX = ".blob"

_Bytes = TypeVar("_Bytes", bytes, memoryview)


class Blobs:
    """The blobs of one store. Without an object store and a file there can be none."""

    def __init__(self, url: str | None = None, *, beside: Path | None = None, key: DataKey | None = None) -> None:
        """Use the object store at `url`; what was put before one was named lies `beside` the file.

        With a key, they are sealed.
        """
        self._places = [under(key, place) for place in blob_places(url, beside)]

    @property
    def are_kept(self) -> bool:
        """Whether there is a place to store them."""
        return bool(self._places)

    def put(self, name: str, data: bytes) -> None:
        """Store the bytes durably. Raises ObjectsUnreachable."""
        self._known()[0].put(name, data)

    def read(self, name: str) -> bytes:
        """Return the checked bytes. Raises StoreCorrupt if they are missing or altered, ObjectsUnreachable."""
        return _checked(name, (place.get(name) for place in self._known()))

    def view(self, name: str) -> memoryview:
        """Return the checked bytes, which nothing that becomes of the file later changes; large ones nobody can change.

        Raises the errors of `read`, and MemoryError.
        """
        return _checked(name, (place.view(name) for place in self._known()))

    def remove(self, name: str) -> None:
        """Remove the bytes, if there are any. Raises ObjectsUnreachable."""
        for place in self._known():
            place.remove(name)

    def _known(self) -> list[Objects]:
        if not self._places:
            raise ObjectsUnreachable("the store has no place for attachments: set MEMORYOS_OBJECT_STORE")
        return self._places


class OwnFolder(Folder):
    """A folder that is made when the first object is put."""

    def put(self, name: str, data: bytes) -> None:
        """Store an object, which only the owner of the folder may read."""
        if not self._path.is_dir():
            try:
                self._path.mkdir(mode=0o700, exist_ok=True)
                settle(self._path.parent)
            except OSError as error:
                raise ObjectsUnreachable(f"the folder {self._path}: {error.strerror}") from error
        super().put(name, data)

    def get(self, name: str) -> bytes | None:
        """Read an object."""
        return super().get(name) if self._path.is_dir() else None

    def view(self, name: str) -> memoryview | None:
        """Read an object once."""
        return super().view(name) if self._path.is_dir() else None

    def remove(self, name: str) -> None:
        """Remove an object."""
        if self._path.is_dir():
            super().remove(name)


def _checked(name: str, found: Iterable[_Bytes | None]) -> _Bytes:
    """The first of these, after its sum was compared with the name of the blob. Raises StoreCorrupt."""
    data = next((one for one in found if one is not None), None)
    if data is None:
        raise StoreCorrupt(f"the blob {name} is missing in the object store: restore the object from a copy")
    if sha256(data).hexdigest() != name.removesuffix(_SUFFIX).rsplit(".", 1)[-1]:
        raise StoreCorrupt(f"the blob {name} in the object store was altered: restore the object from a copy")
    return data


def blob_places(url: str | None, beside: Path | None) -> list[Objects]:
    """Where blobs may lie: new ones in the first place."""
    places: list[Objects] = [open_objects(url)] if url else []
    return [*places, OwnFolder(folder_beside(beside))] if beside else places


def folder_beside(file: Path) -> Path:
    """The folder for the blobs of a store in a file."""
    return file.with_name(f"{file.name}.objects")


def new_name(sha: str) -> str:
    """A new, unique object name for bytes with that sha256."""
    return f"{uuid7()}.{sha}{_SUFFIX}"
