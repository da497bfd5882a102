"""Objects: bytes under a name, stored durably in a folder or in a bucket."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import BufferedReader
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from uuid_utils.compat import uuid7

from memoryos.errors import InvalidInput, MissingExtra, ObjectsUnreachable, StoreFull
from memoryos.infrastructure.objects.fixed_bytes import fixed, fixed_copy, sent
from memoryos.regex import regex

LACKS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what the system says when a file may not grow

BUCKETS = ("s3", "gs", "az")
_FIX = "Write file:///folder, s3://bucket/prefix, gs://bucket/prefix or az://account/container/prefix"
_AZURE_FIX = "Write az://account/container/prefix"
# An endpoint with http:// is intended; all others use https.
_CLIENT: Any = {"connect_timeout": "5s", "timeout": "30s", "allow_http": True}
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}
_OPTIONS: Any = {"client_options": _CLIENT, "retry_config": _RETRIES}
_ACCOUNT = regex("[a-z0-9]{3,24}")
_CONTAINER = regex("[a-z0-9$][a-z0-9-]{2,62}")
# The codes of S3, Google and Azure for a missing object; a missing bucket or account has other codes.
_ABSENT = ("<Code>NoSuchKey</Code>", "<Code>BlobNotFound</Code>")


class Objects(Protocol):
    """An object store. Each method raises ObjectsUnreachable if the store cannot be reached."""

    def put(self, name: str, data: bytes) -> None:
        """Store the bytes durably and completely, or not at all."""
        ...

    def get(self, name: str) -> bytes | None:
        """Return the bytes; None if there is no such object."""
        ...

    def view(self, name: str) -> memoryview | None:
        """Return the same bytes, large ones as fixed bytes. Raises MemoryError without memory for them."""
        ...

    def remove(self, name: str) -> None:
        """Remove an object, if it exists."""
        ...


def open_objects(url: str) -> Objects:
    """The object store at `url`; nothing is sent yet. Raises InvalidInput, or MissingExtra without obstore."""
    parts = urlsplit(url)
    if parts.scheme == "file" and not parts.netloc and len(parts.path) > 1:
        return Folder(Path(unquote(parts.path)))
    if parts.scheme not in BUCKETS or not parts.netloc:
        raise InvalidInput("object_store", "is not the URL of an object store", _FIX)
    return Bucket(parts)


class Folder:
    """Objects as files of a folder. The folder must exist: a missing one may be a disk that is not mounted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def put(self, name: str, data: bytes) -> None:
        """Write and flush a file, then rename it."""
        draft = self._path / f"{name}.{uuid7()}.partial"
        with self._usable():
            try:
                with draft.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                draft.replace(self._path / name)
            finally:
                draft.unlink(missing_ok=True)
            settle(self._path)

    def get(self, name: str) -> bytes | None:
        """Read a file."""
        with self._usable():
            file = self._path / name
            return file.read_bytes() if file.exists() else None

    def view(self, name: str) -> memoryview | None:
        """Read a file once. A map of the file itself would change, or end the process, with the file."""
        with self._usable():
            file = self._path / name
            if not file.exists():
                return None
            with file.open("rb") as opened:
                size = os.fstat(opened.fileno()).st_size
                known = fixed(size, lambda number: sent(opened.fileno(), size, number))
                return _read(opened, size) if known is None else known

    def remove(self, name: str) -> None:
        """Remove a file, and the partial files of processes that were killed while they wrote it."""
        with self._usable():
            for file in [self._path / name, *self._path.glob(f"{name}.*.partial")]:
                file.unlink(missing_ok=True)
            settle(self._path)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            if not self._path.is_dir():
                raise ObjectsUnreachable(f"the folder {self._path} of the object store does not exist")
            yield
        except OSError as error:
            kind = StoreFull if error.errno in LACKS else ObjectsUnreachable
            reason = error.strerror or type(error).__name__
            raise kind(f"the object store {self._path}: {reason}. {kind.__doc__}") from error


def _read(file: BufferedReader, size: int) -> memoryview:
    data = bytearray(size)
    file.readinto(data)  # of a file that is cut meanwhile, the rest stays zeros, and its sum is another
    return memoryview(data)


def settle(folder: Path) -> None:
    """Flush the names in a folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Bucket:
    """A bucket of S3, Google or Azure; credentials and endpoint come from the variables that their tools read."""

    def __init__(self, url: SplitResult) -> None:
        try:
            import obstore
            from obstore.exceptions import BaseError, NotFoundError
        except ModuleNotFoundError as error:
            if error.name != "obstore":
                raise
            raise MissingExtra("An object store in the cloud", "cold") from None
        self._place = f"{url.scheme}://{url.netloc}{url.path}"
        self._obstore: Any = obstore
        self._failure, self._absence = BaseError, (NotFoundError, FileNotFoundError)
        try:
            self._store = _azure(url) if url.scheme == "az" else _bucket(url)
        except InvalidInput:
            raise
        except (BaseError, ValueError) as error:
            raise InvalidInput("object_store", f"{type(error).__name__} for {self._place}", _FIX) from error

    def put(self, name: str, data: bytes) -> None:
        """Upload in one request, so that an object is never partial."""
        with self._usable():
            self._obstore.put(self._store, name, data, use_multipart=False)

    def get(self, name: str) -> bytes | None:
        """Read an object."""
        with self._usable():
            try:
                return bytes(self._obstore.get(self._store, name).bytes())
            except self._absence as error:
                if not _is_of_the_object(error):
                    raise
                return None

    def view(self, name: str) -> memoryview | None:
        """Read an object."""
        data = self.get(name)
        return None if data is None else fixed_copy(data)

    def remove(self, name: str) -> None:
        """Remove an object."""
        with self._usable():
            try:
                self._obstore.delete(self._store, name)
            except self._absence as error:
                # Azure deletes in batches, whose answers have no code; a read tells what is missing.
                if not _is_of_the_object(error) and self.get(name) is not None:
                    raise

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except self._absence as error:
            raise ObjectsUnreachable(
                f"the object store {self._place} does not exist: no such bucket or container"
            ) from error
        except (self._failure, OSError) as error:
            raise ObjectsUnreachable(
                f"the object store {self._place} does not answer: {type(error).__name__}"
            ) from error


def _bucket(url: SplitResult) -> Any:
    from obstore.store import from_url

    return from_url(url.geturl(), **_OPTIONS)


def _azure(url: SplitResult) -> Any:
    """The container in az://account/container/prefix, where obstore itself would take the account for a container."""
    from obstore.store import AzureStore

    container, _, prefix = unquote(url.path[1:]).partition("/")
    if not (_ACCOUNT.fullmatch(url.netloc) and _CONTAINER.fullmatch(container)):
        raise InvalidInput("object_store", "does not name an account and a container of Azure", _AZURE_FIX)
    return AzureStore(container, account_name=url.netloc, prefix=prefix or None, **_OPTIONS)


def _is_of_the_object(error: BaseException) -> bool:
    """Whether a 404 is about the object, and not about its bucket or another server."""
    return any(code in str(error) for code in _ABSENT)
