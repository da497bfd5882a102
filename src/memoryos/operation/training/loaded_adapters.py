"""Loaded adapters: which adapters an answer uses, after a check of each that nothing it knows has changed.

The check is made for every answer. An adapter is left out, with the reason, if a memory that it was trained on is gone,
changed, expired or hidden from the caller, if it fits another model, or if its bytes are damaged or out of reach: an
answer is never wrong because of an adapter, and never fails because of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.built_memory import AdapterStage
from memoryos.cube import MemCube
from memoryos.errors import ModelError, NotFound, ObjectsUnreachable, StoreCorrupt
from memoryos.infrastructure.vault.contract import Reader
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter
from memoryos.operation.training.adapter_cubes import AdapterShelf, adapter_in, seen_adapters, used_version
from memoryos.operation.training.adapter_pack import unpacked_files
from memoryos.operation.training.adapter_trainer import is_for
from memoryos.operation.training.training_sources import stale_source
from memoryos.operation.training.wanted_adapter import WantedAdapter


@dataclass(frozen=True, slots=True)
class AdapterUse:
    """An adapter that is loaded, and why it is not used, if it is not."""

    wanted: WantedAdapter
    cube: MemCube | None
    left_out: str = ""
    adapter: WeightedAdapter | None = None  #: what the model computes with


@dataclass(frozen=True)
class LoadedAdapters:
    """The loaded adapters of one owner, for one engine."""

    engine: LocalEngine
    shelf: AdapterShelf

    def use(self, reader: Reader, wanted: WantedAdapter) -> AdapterUse:
        """The version of an adapter that is used now, with its files; `reader` shows what the caller may read."""
        if wanted.is_withdrawn:
            return AdapterUse(wanted, None, "it was withdrawn")
        try:
            cube = used_version(reader, wanted)
            if why := unusable(reader, cube, self.engine, self.shelf.clock()):
                return AdapterUse(wanted, None, why)
            return AdapterUse(wanted, cube, "", self._checked(cube, wanted))
        except (NotFound, StoreCorrupt, ObjectsUnreachable, ModelError) as error:  # or it went a moment ago
            return AdapterUse(wanted, None, str(error))

    def _checked(self, cube: MemCube, wanted: WantedAdapter) -> WeightedAdapter:
        """What the engine computes with. Raises NotFound, StoreCorrupt, ObjectsUnreachable, ModelError."""
        files = unpacked_files(self.shelf.read(cube))
        adapter = WeightedAdapter.of(files, 1.0 if wanted.weight is None else wanted.weight)
        self.engine.check_adapter(adapter)
        return adapter


def loaded_in(reader: Reader) -> list[WantedAdapter]:
    """The adapters that answers use, without those that are hidden from the caller."""
    return [one for one in seen_adapters(reader).values() if one.weight is not None and not one.is_withdrawn]


def adapters_of(uses: Sequence[AdapterUse]) -> Adapters:
    """Those that take part."""
    return tuple(one.adapter for one in uses if one.adapter is not None)


def unusable(reader: Reader, cube: MemCube, engine: LocalEngine, now: datetime) -> str:
    """Why a version may not be used now; empty if it may."""
    adapter = adapter_in(cube)
    if adapter.stage is not AdapterStage.READY:
        return f"it is {adapter.stage.value}: {adapter.refused}"
    if not is_for(adapter.fingerprint, engine):
        return f"it was trained for another model ({adapter.model}) than {engine.name}: train it again"
    if cube.has_expired(now):
        return "a memory that it was trained on has expired"
    if (stale := stale_source(reader, adapter, now)) is not None:
        return f"the memory {stale} changed, is gone, or is hidden from the caller"
    return ""
