"""Mounts: the memories that searches include beside the owner's own."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from memoryos import arguments, expected
from memoryos.caller import Action, Caller
from memoryos.config import Settings
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.infrastructure.vault.key_file import KeyFile
from memoryos.listing import Listing
from memoryos.mount import Mount
from memoryos.opening import engine_at
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.mounts.adapter import MemoryAdapter
from memoryos.operation.mounts.lazy_mount import LazyMount
from memoryos.operation.mounts.registry import adapter_for
from memoryos.operation.mounts.store_adapter import StoreAdapter
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


@door
class Mounts:
    """The mounted memories of one store. A search includes the mounts that serve its owner."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def list(self) -> Listing[Mount]:
        """List the mounts in the order in which they were added."""
        self._engine.admit(Action.ADMINISTER)
        return Listing(self._engine.mounted.mounts)

    def add(self, mount: Mount, *, later: bool = False) -> None:
        """Include another memory in the searches of the owners that it serves (`Mount.serves`).

        The other store must use the same embedder. It is never written, not even visit counts, unless the mount is
        `writable`. With `later`, as for mounts of the settings, it is opened at the first search, and listed as missing
        while that fails. Raises InvalidInput if the name is taken or the place is wrong, StorageError if the store
        cannot be used.
        """
        expected.instance("mount", mount, Mount, "Pass memoryos.Mount(...)")
        self._engine.admit(Action.ADMINISTER)
        self._engine.mounted.check(mount)
        seconds = self._engine.settings.mount_timeout_seconds
        adapter = LazyMount(mount.name, lambda: self._adapter(mount), seconds)
        if not arguments.flag("later", later):
            adapter.open()
        with ExitStack() as undo:
            undo.callback(adapter.close)
            self._engine.mounted.add(mount, adapter)
            undo.pop_all()

    def remove(self, name: str) -> None:
        """Remove a mount and release its store. Raises InvalidInput if there is no mount of that name."""
        self._engine.admit(Action.ADMINISTER)
        self._engine.mounted.remove(checked_text("name", name, limit=ID_LIMIT))

    @property
    def _hand(self) -> Hand:
        return self._engine.hand

    def _adapter(self, mount: Mount) -> MemoryAdapter:
        engine = self._engine
        opener = adapter_for(mount.place)
        if opener is not None:
            return opener(mount, engine.embedder, engine.settings)
        if mount.scope is None:
            raise InvalidInput("mount.scope", "is missing", "Name the user whose memory it is")
        if mount.place is None:
            return StoreAdapter(engine.searcher, mount.scope, engine.intake)
        other = engine_at(
            mount.place,
            settings=_settings(mount, engine.settings),
            embedder=engine.embedder,
            chat=engine.chat,
            clock=engine.clock,
            gate=engine.policies,
            read_only=not mount.writable,
        )
        other.vault.keys = engine.vault.keys  # who calls is known here, and what was passed on to it
        if engine.policies is not None:
            engine.policies.rights = engine.vault.roles.rights
        return StoreAdapter(other.searcher, mount.scope, other.intake, other.wait, other.close)


def _settings(mount: Mount, settings: Settings) -> Settings:
    """The settings of the mounted store: the key is for it only if it is encrypted."""
    changed: dict[str, object] = {"mounts": (), "policies": None, "audit": settings.audit and mount.writable}
    place = None if str(mount.place) == arguments.IN_MEMORY else arguments.store_place(str(mount.place))
    if not (isinstance(place, Path) and KeyFile(place).exists()):
        changed |= {"encryption_key": None, "encryption_key_file": None, "encryption_keyring": None}
    return settings.model_copy(update=changed)
