"""Training recipe: how a LoRA adapter is trained; it needs none of the packages that train."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from memoryos.explained import VALUE, explained
from memoryos.plain import Plain


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class TrainingRecipe(Plain):
    """How an adapter is trained."""

    rank: Annotated[int, Field(ge=1, le=256)] = 16  #: of its matrices
    alpha: Annotated[int, Field(ge=1, le=4_096)] = 32  #: how much they count, in proportion to the rank
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3  #: the highest
    epochs: Annotated[int, Field(ge=1, le=100)] = 4  #: how often each example is seen
    batch: Annotated[int, Field(ge=1, le=256)] = 8  #: examples of one step
    replay: Annotated[float, Field(ge=0, le=100)] = 0.5  #: how much the general texts count; 0: they are not read
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0  #: of the order of the examples, and of the first matrices


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """A prompt with its answer, as tokens."""

    tokens: tuple[int, ...]
    answer_at: int  #: the first token of the answer
