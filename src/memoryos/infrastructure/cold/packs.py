"""Packs of one store; the ones read last are cached in memory."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from memoryos.errors import ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.cold.pack import Pack, found_in, is_cold, pack_of
from memoryos.infrastructure.encryption.data_key import DataKey
from memoryos.infrastructure.objects.object_store import Objects, open_objects
from memoryos.infrastructure.objects.sealed_objects import under

HELD = 8  # packs in memory


class Packs:
    """The packs in an object store; without one, there can be none."""

    def __init__(self, url: str | None = None, key: DataKey | None = None) -> None:
        self._objects: Objects | None = under(key, open_objects(url)) if url else None
        self._lock = Lock()
        self._held: OrderedDict[str, Pack] = OrderedDict()

    @property
    def are_kept(self) -> bool:
        """Whether there is an object store."""
        return self._objects is not None

    def document(self, cube_id: str, stored: str) -> str:
        """The document of a cube, wherever it is. Raises StoreCorrupt, ObjectsUnreachable."""
        return found_in(self.read(pack_of(stored)), cube_id, stored) if is_cold(stored) else stored

    def read(self, name: str) -> Pack:
        """A checked pack. Raises StoreCorrupt if it is missing or damaged, or ObjectsUnreachable."""
        with self._lock:
            if held := self._held.get(name):
                self._held.move_to_end(name)
                return held
        pack = Pack.read(name, self._kept().get(name))
        with self._lock:
            self._held[name] = pack
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        return pack

    def put(self, pack: Pack) -> None:
        """Store a pack and read it back."""
        self._kept().put(pack.name, pack.data)
        Pack.read(pack.name, self._kept().get(pack.name))

    def is_there(self, name: str) -> bool:
        """Whether a pack exists. Raises ObjectsUnreachable."""
        try:
            return self._kept().get(name) is not None
        except StoreCorrupt:  # it is damaged, but there
            return True

    def remove(self, name: str) -> None:
        """Remove a pack, if it exists."""
        with self._lock:
            self._held.pop(name, None)
        self._kept().remove(name)

    def _kept(self) -> Objects:
        if self._objects is None:
            raise ObjectsUnreachable("the store has cold memories: set MEMORYOS_OBJECT_STORE to their object store")
        return self._objects
