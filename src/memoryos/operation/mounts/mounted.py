"""Mounted: the mounts of a store by name, whom they serve, and which are writable."""

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
    """The mounts of one store. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[str, _Entry] = {}
        self._is_closed = False

    def check(self, mount: Mount) -> None:
        """Raise InvalidInput if the name is taken, StorageError if the memory is closed."""
        if self._is_closed:
            raise StorageError(f"the memory is closed: {mount.name!r} cannot be mounted")
        if mount.name in self._entries:
            raise InvalidInput("mount.name", f"{mount.name!r} is mounted already", "Unmount it, or choose another name")

    def add(self, mount: Mount, adapter: MemoryAdapter) -> None:
        """Add a mount; the adapter is closed here from now on. Raises InvalidInput if the name is taken."""
        with self._lock:
            self.check(mount)
            self._entries[mount.name] = _Entry(mount, adapter)

    def remove(self, name: str) -> None:
        """Remove a mount and release the back end. Raises InvalidInput if there is no mount of that name."""
        with self._lock:
            entry = self._entries.pop(name, None)
        if entry is None:
            raise self._unknown(name)
        entry.adapter.close()

    @property
    def mounts(self) -> list[Mount]:
        """The mounts in the order in which they were added."""
        return [entry.mount for entry in list(self._entries.values())]

    def for_search(self, caller: Scope, names: Iterable[str] | None) -> dict[str, MemoryAdapter]:
        """The mounts of a search: all that serve the caller, or those named. Raises InvalidInput for any other."""
        if names is None:
            entries = list(self._entries.values())
            return {one.mount.name: one.adapter for one in entries if one.mount.serves(caller)}
        return {name: self._serving(caller, name).adapter for name in names}

    def store(self, caller: Scope, name: str, arriving: Arriving) -> list[str]:
        """Store turns in a mounted memory and return the ids of their pages.

        Raises StoreReadOnly if the mount is not writable, and InvalidInput like a search.
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
        """Let every back end finish its waiting work."""
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
        return InvalidInput("mount", f"there is no mount {name!r}", "Name one that is mounted")
