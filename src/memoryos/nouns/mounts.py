"""Mounts: the memories that searches look into beside the own one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from memoryos import arguments
from memoryos.caller import Action, Caller
from memoryos.engine import Engine
from memoryos.errors import InvalidInput
from memoryos.mount import Mount
from memoryos.opening import engine_at
from memoryos.operation.calls.door import door
from memoryos.operation.calls.hand import Hand
from memoryos.operation.mounts.adapter import MemoryAdapter
from memoryos.operation.mounts.patient import Patient
from memoryos.operation.mounts.registry import adapter_for
from memoryos.operation.mounts.store_adapter import StoreAdapter
from memoryos.scope import ID_LIMIT
from memoryos.text import checked_text


@door
class Mounts:
    """What is mounted in one store, for those whom each mount serves."""

    def __init__(self, engine: Engine, caller: Caller) -> None:
        self._engine = engine
        self._caller = caller

    def list(self) -> Sequence[Mount]:
        """What is mounted, in the order it was."""
        self._engine.admit(Action.ADMINISTER)
        return self._engine.mounted.mounts

    def add(self, mount: Mount, *, later: bool = False) -> None:
        """Let searches look into another memory, too, as far as it serves who searches (`Mount.serves`).

        Its store must have our embedder. It is never written, not even its visits, unless it is mounted writable.
        Raises InvalidInput for a name that is taken or a place that is none, StorageError when it cannot be used.
        With `later`, as for mounts of the settings, it is opened when it is first asked, and missing until it can be.
        """
        arguments.instance("mount", mount, Mount, "Pass memoryos.Mount(...)")
        self._engine.admit(Action.ADMINISTER)
        self._engine.mounted.check(mount)
        seconds = self._engine.settings.mount_timeout_seconds
        adapter = Patient(mount.name, lambda: self._adapter(mount), seconds)
        if not later:
            adapter.open()
        with ExitStack() as undo:
            undo.callback(adapter.close)
            self._engine.mounted.add(mount, adapter)
            undo.pop_all()

    def remove(self, name: str) -> None:
        """Look no more into a mounted memory, and release it. Raises InvalidInput when nothing has that name."""
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
            raise InvalidInput("mount.scope", "is missing", "Name whose memory it is: scope=Scope(user=...)")
        if mount.place is None:
            return StoreAdapter(engine.searcher, mount.scope, engine.intake)
        other = engine_at(
            mount.place,
            settings=engine.settings.model_copy(update={"mounts": ()}),
            embedder=engine.embedder,
            chat=engine.chat,
            clock=engine.clock,
            read_only=not mount.writable,
        )
        return StoreAdapter(other.searcher, mount.scope, other.intake, other.wait, other.close)
