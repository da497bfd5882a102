"""LoadedFiles: the files of a model as they were when it was loaded, to tell whether others lie there now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memoryos.errors import ModelError
from memoryos.models.local.fingerprint import files_digest

_Marks = tuple[tuple[int, int, int], ...]


class LoadedFiles:
    """Files that are opened again while the process lives. They must have what their digest was taken of."""

    def __init__(self, files: Sequence[Path]) -> None:
        """Take their marks and their digest. Raises ModelError if they cannot be read."""
        self._files = tuple(files)
        self._marks, self.digest = self._read()

    def check(self) -> None:
        """Raise ModelError unless they have the same bytes. They are read again only if their marks differ."""
        if self._marks_now() == self._marks:
            return
        marks, digest = self._read()
        if digest != self.digest:
            raise ModelError(
                f"the file of the model changed since it was loaded: {self._files[0]}. Open the memory again to use it"
            )
        self._marks = marks

    def _read(self) -> tuple[_Marks, str]:
        marks = self._marks_now()  # before the bytes: a change meanwhile shows at the next check
        try:
            return marks, files_digest(*self._files)
        except OSError as error:
            raise _unread(error) from error

    def _marks_now(self) -> _Marks:
        try:
            told = [file.stat() for file in self._files]
        except OSError as error:
            raise _unread(error) from error
        return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in told)


def _unread(error: OSError) -> ModelError:
    return ModelError(f"the files of the local model cannot be read: {error}")
