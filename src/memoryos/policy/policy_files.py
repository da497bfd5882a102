"""PolicyFiles: a file or a folder with policies, read again as soon as it changes.

A decision is never made by policies that are no longer in the files: each call looks at the files first. Their status
is enough where they changed long ago; right after a change they are read, because two changes within one tick of the
file system's clock have the same status.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from memoryos.errors import InvalidInput
from memoryos.policy.policies import Policies

ENDING = ".cedar"
_TICK_NS = 2_000_000_000  # the coarsest clock of a file system

_Status = tuple[tuple[str, int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class _ReadFiles:
    """What was read, and when."""

    status: _Status
    read_ns: int
    texts: dict[str, str]
    policies: Policies

    def is_still(self, status: _Status) -> bool:
        """Whether these files certainly have what was read."""
        return status == self.status and all(changed < self.read_ns - _TICK_NS for _, _, changed, _, _ in status)


class PolicyFiles:
    """The policies of a path: a .cedar file, or a folder of them."""

    def __init__(self, path: str | Path) -> None:
        """Read and check the policies. Raises InvalidInput, with file and line, and MissingExtra."""
        if not isinstance(path, str | Path) or not str(path).strip() or "\x00" in str(path):
            raise InvalidInput("policies", "is not a file or a folder", "Pass e.g. 'policies.cedar'")
        self._path = Path(path).expanduser()
        self._known: _ReadFiles | None = None
        self.policies()

    def policies(self) -> Policies:
        """The policies that are in the files now. Raises InvalidInput."""
        try:
            files = self._files()
            status, known = _status(files), self._known
            if known and known.is_still(status):
                return known.policies
            read_ns = time.time_ns()
            texts = {file.name: file.read_text("utf-8") for file in files}
        except (OSError, UnicodeDecodeError) as error:
            reason = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
            raise InvalidInput("policies", f"{self._path} cannot be read: {reason}", "Name a readable file") from None
        policies = known.policies if known and known.texts == texts else Policies.of(texts)
        self._known = _ReadFiles(status, read_ns, texts, policies)
        return policies

    def _files(self) -> list[Path]:
        if not self._path.is_dir():
            return [self._path]
        files = sorted(file for file in self._path.iterdir() if file.suffix == ENDING)
        if not files:
            raise InvalidInput("policies", f"{self._path} has no {ENDING} file", "Add one, or name another folder")
        return files


def _status(files: Iterable[Path]) -> _Status:
    found = ((file.name, file.stat()) for file in files)
    return tuple((name, one.st_mtime_ns, one.st_ctime_ns, one.st_size, one.st_ino) for name, one in found)
