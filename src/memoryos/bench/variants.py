"""Search variants that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.memory_os import MemoryOS
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, Weights, ablations
from memoryos.operation.recall.hit import Recall, Strategy
from memoryos.scope import Scope


@dataclass(frozen=True, slots=True)
class Variant:
    """A strategy with its weights, and its name in tables."""

    name: str
    strategy: Strategy
    weights: Weights = DEFAULT_WEIGHTS  #: only hybrid has a use for them

    def search(
        self, memory: MemoryOS, user: str, question: str, *, pages: int | None = None, at: datetime | None = None
    ) -> Recall:
        """Search a user's conversation for the words of a question, as it was then; with two_stage, as it is now."""
        return memory.of(Scope(user=user)).search(
            question,
            strategy=self.strategy,
            weights=self.weights,
            pages=pages,
            as_of=None if self.strategy is Strategy.TWO_STAGE else at,
        )


def whole(strategies: Sequence[Strategy]) -> dict[str, Variant]:
    """The unchanged strategies, by name."""
    return {strategy.value: Variant(strategy.value, strategy) for strategy in strategies}


def without_parts() -> dict[str, Variant]:
    """Hybrid without one part of its score each, by the name of the part."""
    less = ablations(DEFAULT_WEIGHTS)
    return {part: Variant(f"hybrid - {part}", Strategy.HYBRID, weights) for part, weights in less.items()}
