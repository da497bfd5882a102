"""PlacementTask: what is to be answered, for whom, by which model, and what that may cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from memoryos.plain import Plain, PlainContent
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class PlacementBudget(Plain):
    """What the memories of one task may cost together."""

    tokens: int  #: that they take of the model's context, as text and as KV
    ms: float = inf  #: until the first token of the answer
    size_bytes: float = inf  #: of KV and adapters in memory


@dataclass(frozen=True, slots=True)
class PlacementTask(PlainContent):
    """One task."""

    query: str  #: what is asked
    scope: Scope  #: whose memory
    budget: PlacementBudget
    model: str = ""  #: fingerprint of the model that answers
    labels: frozenset[str] = frozenset()  #: tags of memories that it prefers
    priorities: Mapping[str, int] = field(default_factory=dict, hash=False)  #: of tags; 0 for the others

    def priority(self, labels: frozenset[str]) -> int:
        """The highest priority of these labels."""
        return max((self.priorities.get(label, 0) for label in labels), default=0)
