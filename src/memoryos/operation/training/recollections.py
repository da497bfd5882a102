"""Recollections: what adapters tell, asked and stored for the owners of one store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoryos.cube import MemCube
from memoryos.errors import NotFound
from memoryos.filter import labels_of
from memoryos.kinds import Kind
from memoryos.models.embedder import Embedder
from memoryos.operation.calls.permission import check_new
from memoryos.operation.training.adapted_answers import OwnAdapters
from memoryos.operation.training.adapter_cubes import adapter_in
from memoryos.operation.training.adapter_status import Recollection
from memoryos.operation.training.loaded_adapters import adapters_of
from memoryos.operation.training.recollection import Recollector
from memoryos.operation.training.wanted_adapter import WantedAdapter
from memoryos.scope import Scope


@dataclass(frozen=True)
class Recollections:
    """Asks the adapters of one store for what they know."""

    adapters: OwnAdapters
    embedder: Embedder
    said: Callable[[str, Scope], str]  #: a text as it may be stored; raises PrivacyRefused
    shown: Callable[[Sequence[MemCube]], Sequence[MemCube]]  #: memories as a caller sees them

    def stored(self, place: Scope, wanted: WantedAdapter) -> Recollection:
        """Ask one adapter, and store what is new. Raises NotFound if it may not be asked, ModelError."""
        vault = self.adapters.vault
        with vault.view(place) as reader:
            use = self.adapters.loaded(place).use(reader, wanted)
            if use.cube is None:
                raise NotFound(f"the adapter {wanted.name!r} cannot be asked: {use.left_out}")
            sources = list(reader.get(one.id for one in adapter_in(use.cube).sources).values())
        check_new(vault, place, Kind.FACT, labels_of(use.cube))
        engine = self.adapters.local.engine()
        recollector = Recollector(vault, self.embedder, place, engine, lambda text: self.said(text, place))
        told = recollector.ask(self.shown(sources), adapters_of([use]))
        return recollector.store(told, use.cube, self.adapters.clock())
