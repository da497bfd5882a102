"""Mounted: the memories that are mounted beside the own one, by name; who may look into which, and who may write."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock

from memoryos.errors import InvalidInput, StorageError, StoreReadOnly
from memoryos.mount import Mount
from memoryos.operation.intake.page_writer import Arriving
from memoryos.operation.mounts.adapter import MemoryAdapter
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class _Entry:
    mount: Mount
    adapter: MemoryAdapter


class Mounted:
    """The mounts of one memory. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[str, _Entry] = {}
        self._is_closed = False

    def check(self, mount: Mount) -> None:
        """Raise InvalidInput when the name is taken, StorageError when the memory is closed."""
        if self._is_closed:
            raise StorageError(f"the memory is closed: {mount.name!r} cannot be mounted")
        if mount.name in self._entries:
            raise InvalidInput("mount.name", f"{mount.name!r} is mounted already", "Unmount it, or choose another name")

    def add(self, mount: Mount, adapter: MemoryAdapter) -> None:
        """Mount; from now on the adapter is closed here. Raises InvalidInput when the name is taken."""
        with self._lock:
            self.check(mount)
            self._entries[mount.name] = _Entry(mount, adapter)

    def remove(self, name: str) -> None:
        """Unmount, and release the back end. Raises InvalidInput when nothing has that name."""
        with self._lock:
            entry = self._entries.pop(name, None)
        if entry is None:
            raise self._unknown(name)
        entry.adapter.close()

    @property
    def mounts(self) -> list[Mount]:
        """What is mounted, in the order it was."""
        return [entry.mount for entry in list(self._entries.values())]

    def for_search(self, caller: Scope, names: Iterable[str] | None) -> dict[str, MemoryAdapter]:
        """What the caller looks into: all that serve it, or those named. Raises InvalidInput for one it may not."""
        if names is None:
            entries = list(self._entries.values())
            return {one.mount.name: one.adapter for one in entries if one.mount.serves(caller)}
        return {name: self._serving(caller, name).adapter for name in names}

    def store(self, caller: Scope, name: str, arriving: Arriving) -> list[str]:
        """Store turns in a mounted memory; returns the ids of their pages.

        Raises StoreReadOnly when it is mounted to be read, InvalidInput like a search.
        """
        entry = self._serving(caller, name)
        if not entry.mount.writable:
            raise StoreReadOnly(f"{name!r} is mounted for reading: mount it with writable=True to write to it")
        if not arriving.about.is_plain:
            problem = "takes tags, but no metadata, end, title or source"
            raise InvalidInput("mount", problem, "Leave these out, or add to the mounted memory directly")
        return entry.adapter.write(
            arriving.turns, tags=arriving.about.tags, origin=arriving.origin, idempotency_key=arriving.key
        )

    def sync(self) -> None:
        """Let every back end do what waits."""
        for entry in list(self._entries.values()):
            if entry.mount.writable:
                entry.adapter.sync()

    def close(self) -> None:
        """Release all of them."""
        with self._lock:
            self._is_closed = True
            entries = list(self._entries.values())
            self._entries.clear()
        with ExitStack() as steps:  # each, whatever became of the others
            for entry in entries:
                steps.callback(entry.adapter.close)

    def _serving(self, caller: Scope, name: str) -> _Entry:
        entry = self._entries.get(name)
        # One that serves others is as unknown as one that is not there.
        if entry is None or not entry.mount.serves(caller):
            raise self._unknown(name)
        return entry

    def _unknown(self, name: str) -> InvalidInput:
        return InvalidInput("mount", f"there is no mount {name!r}", "See MemoryOS.mounts for the names")
