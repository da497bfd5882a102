"""PrefixState: the KV state of a prefix, as the scheduler and its policies know it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from memoryos.models.local.local_engine import KVState
from memoryos.operation.placement.cost_model import SMOLLM2
from memoryos.operation.placement.kv_keeper import KvBlock
from memoryos.operation.placement.placement_policy import HeldBlock
from memoryos.operation.placement.placement_task import PlacementTask
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class PrefixState:
    """The KV state of a prefix: where it lies in memory, and how to get it if it does not."""

    memory_id: str
    owner: Scope
    name: str  #: of the prefix
    tokens: int
    size_bytes: int
    heat: float  #: visits of its sources
    labels: frozenset[str]  #: tags of its sources
    sources: tuple[str, ...]  #: their ids
    load: Callable[[], KVState | None]

    @property
    def key(self) -> str:
        """Under which it is in memory."""
        return state_key(self.owner, self.memory_id)

    def held(self, task: PlacementTask, similarity: float = 0.0) -> HeldBlock:
        """It, as a policy knows it that is asked about one answer or plan."""
        return HeldBlock(
            id=self.memory_id,
            scope=self.owner,
            size_bytes=self.size_bytes,
            saved_ms=SMOLLM2.prefill_ms(self.tokens) - SMOLLM2.load_ms(self.size_bytes),
            heat=self.heat,
            similarity=similarity,
            labels=self.labels,
            priority=task.priority(self.labels),
        )

    def block(self, size_bytes: int | None = None) -> KvBlock:
        """It, as the scheduler knows it."""
        size = self.size_bytes if size_bytes is None else size_bytes
        saved, ready = SMOLLM2.saved_ms(self.tokens), SMOLLM2.load_ms(size)
        return KvBlock(
            id=self.key,
            owner=self.owner,
            name=self.name,
            size_bytes=size,
            saved_ms=saved,
            ready_ms=ready,
            heat=self.heat,
            labels=self.labels,
        )


def place_of(owner: Scope) -> str:
    """How the keys of an owner's states begin; no other owner's begin so."""
    return json.dumps((owner.tenant, owner.user, owner.agent, owner.namespace))


def state_key(owner: Scope, memory_id: str) -> str:
    """Under which a state is in memory."""
    return f"{place_of(owner)}{memory_id}"
