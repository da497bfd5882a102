"""HomeProcess: the process that something was made in. A forked child has a copy, but none of its threads and locks."""

from __future__ import annotations

import os

from memoryos.errors import StorageError


class HomeProcess:
    """The process of this moment."""

    def __init__(self) -> None:
        self._id = os.getpid()

    @property
    def is_left(self) -> bool:
        """Whether this is a copy in a forked child."""
        return self._id != os.getpid()

    def check(self) -> None:
        """Raise StorageError in a forked child."""
        if self._id != os.getpid():
            raise StorageError("this memory was opened before the process forked: open it again in the child")
