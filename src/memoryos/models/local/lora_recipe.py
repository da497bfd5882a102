"""Recipe: how a LoRA adapter is trained; it needs none of the packages that train."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.plain import Plain


@dataclass(frozen=True, slots=True)
class Recipe(Plain):
    """How an adapter is trained."""

    rank: int = 16  #: of its matrices
    alpha: int = 32  #: how much they count, in proportion to the rank
    learning_rate: float = 1e-3  #: the highest
    epochs: int = 4  #: how often each example is seen
    batch: int = 8  #: examples of one step
    replay: float = 0.5  #: how much the general texts count; 0: they are not read
    seed: int = 0  #: of the order of the examples, and of the first matrices


@dataclass(frozen=True, slots=True)
class Example:
    """A prompt with its answer, as tokens."""

    tokens: tuple[int, ...]
    answer_at: int  #: the first token of the answer
