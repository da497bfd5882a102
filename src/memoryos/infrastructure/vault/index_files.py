"""IndexFiles: the search indexes of large owners, saved beside the store, so that a new process need not build them.

A file contains words of its owner's memory. So only the owner of the store may read its folder, and the transaction
that deletes or rewords a page removes it. It is only a cache: a file that is missing, damaged or outdated is rebuilt
from the store.
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray
from uuid_utils.compat import uuid7

from memoryos.errors import StorageError
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.encryption.sealed_stream import SealedWriter, UnsealedReader
from memoryos.scope import Scope

_MAGIC = b"memoryos index 1\n"
_NUMBER_BYTES = 8  # of the length of the header, and of the checksum at the end
_NUMBERS = "biuf"  # kinds of numpy's types that a file may hold

_TOO_MUCH = (RecursionError, MemoryError)  # that a damaged header asks for

logger = logging.getLogger(__name__)


class Storable(Protocol):
    """An array, or what becomes one when it is written."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the array."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array."""

    def __array__(self) -> NDArray[Any]:
        """The array itself."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Arrays by name, and what is to be known of them before they are read."""

    about: Mapping[str, Any]  #: as JSON has it
    arrays: Mapping[str, Storable]


class IndexFiles:
    """The folder beside a store, with a file for each large owner."""

    def __init__(self, store: Path, key: DataKey | None = None) -> None:
        self._folder = folder_of_indexes(store)
        self._key = key

    def read(self, owner: Scope, is_wanted: Callable[[Mapping[str, Any]], bool]) -> Bundle | None:
        """The owner's bundle, if there is one that is whole and wanted by what it says of itself."""
        try:
            file = self._file(owner)
            with file.open("rb") as stream:
                nbytes = os.fstat(stream.fileno()).st_size
                if self._key is None:
                    return _read(stream, nbytes, is_wanted)
                unsealed = UnsealedReader(stream, nbytes, self._key, file.name)
                return _read(unsealed, unsealed.size, is_wanted)
        except FileNotFoundError:
            return None
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            IndexError,
            OverflowError,
            *_TOO_MUCH,
        ) as error:
            logger.warning(
                "index file not read: %s",
                type(error).__name__,
                extra={"action": "index_file", "error": type(error).__name__},
            )
            return None

    def write(self, owner: Scope, bundle: Bundle) -> bool:
        """Replace the owner's bundle; return whether that worked.

        A reader finds the one or the other. `remove` also ends a write that is under way in another process.
        """
        file = self._file(owner)
        draft = file.with_suffix(f".{uuid7()}.draft")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for left in self._with_drafts(file):  # by who died, or writes now and gives up
                if left != file:
                    left.unlink(missing_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
                self._put(stream, file.name, bundle)
            draft.replace(file)
        except OSError as error:  # no room, no permission, or removed meanwhile: search does without it
            logger.warning(
                "index file not written: %s",
                type(error).__name__,
                extra={"action": "index_file", "error": type(error).__name__},
            )
            return False
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return True

    def remove(self, owner: Scope) -> None:
        """Remove the owner's file, and the drafts of it that others write or left behind. Raises StorageError."""
        for file in self._with_drafts(self._file(owner)):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                raise StorageError(f"{file}, which holds words of this memory, cannot be removed: {error}") from error

    def _with_drafts(self, file: Path) -> list[Path]:
        """That file and its drafts. `glob` would compile a pattern for each owner, and keep 32,768 of them."""
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self._folder) as found:
            return [Path(one.path) for one in found if one.name.startswith(f"{file.stem}.")]
        return []

    def _file(self, owner: Scope) -> Path:
        named = json.dumps([owner.tenant, owner.user, owner.agent, owner.path])
        hidden = self._key.hidden(named) if self._key else sha256(named.encode()).hexdigest()
        return self._folder / f"{hidden[:32]}.arrays"

    def _put(self, stream: BinaryIO, name: str, bundle: Bundle) -> None:
        if self._key is None:
            _write(stream, bundle)
            return
        sealing = SealedWriter(stream, self._key, name)
        _write(sealing, bundle)
        sealing.finish()


def folder_of_indexes(store: Path) -> Path:
    """The folder for the saved indexes of a store in a file."""
    return store.with_name(f"{store.name}.index")


class _Summed:
    """A stream that computes the checksum of its data."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.sum = 0

    def write(self, data: bytes | memoryview) -> None:
        self.sum = zlib.crc32(data, self.sum)
        self._stream.write(data)

    def read(self, length: int) -> bytes:
        data: bytes = self._stream.read(length)
        self.sum = zlib.crc32(data, self.sum)
        return data

    def fill(self, array: NDArray[Any]) -> None:
        data = array.reshape(-1).view(np.uint8).data
        self._stream.readinto(data)
        self.sum = zlib.crc32(data, self.sum)


def _write(stream: BinaryIO | SealedWriter, bundle: Bundle) -> None:
    shapes = [(name, array.dtype.str, array.shape) for name, array in bundle.arrays.items()]
    header = json.dumps({"about": bundle.about, "arrays": shapes}).encode()
    summed = _Summed(stream)
    summed.write(_MAGIC + len(header).to_bytes(_NUMBER_BYTES, "little") + header)
    for array in bundle.arrays.values():
        summed.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    stream.write(summed.sum.to_bytes(_NUMBER_BYTES, "little"))


def _read(
    stream: BinaryIO | UnsealedReader, size: int, is_wanted: Callable[[Mapping[str, Any]], bool]
) -> Bundle | None:
    """The bundle; None when it is not wanted. Raises ValueError and the like when it is damaged."""
    summed = _Summed(stream)
    if summed.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("another format")
    length = int.from_bytes(summed.read(_NUMBER_BYTES), "little")
    if length > size:
        raise ValueError("cut off")
    header = json.loads(summed.read(length))
    if not is_wanted(header["about"]):
        return None
    arrays = dict(_arrays(summed, header["arrays"], size - stream.tell() - _NUMBER_BYTES))
    if int.from_bytes(stream.read(_NUMBER_BYTES), "little") != summed.sum:
        raise ValueError("damaged")
    return Bundle(header["about"], arrays)


def _arrays(summed: _Summed, shapes: list[Any], room: int) -> Iterator[tuple[str, NDArray[Any]]]:
    kinds = [np.dtype(kind) for _, kind, _ in shapes]
    sizes = [kind.itemsize * int(np.prod(shape)) for kind, (_, _, shape) in zip(kinds, shapes, strict=True)]
    if sum(sizes) != room or min(sizes, default=0) < 0 or any(kind.kind not in _NUMBERS for kind in kinds):
        raise ValueError("damaged")
    for kind, (name, _, shape) in zip(kinds, shapes, strict=True):
        array = np.empty(shape, kind)
        summed.fill(array)
        yield name, array
