"""Gate: what an adapter must have learned, and what it must not have lost, before it may be used."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from memoryos.built_memory import GateResult
from memoryos.explained import VALUE, explained
from memoryos.plain import Plain


@explained
@dataclass(frozen=True, slots=True, kw_only=True, config=VALUE)
class GateBounds(Plain):
    """The bounds of the gate."""

    least_recall: Annotated[float, Field(ge=0, le=1)] = 0.6  #: share of the untrained questions answered rightly
    most_loss: Annotated[float, Field(ge=0, le=1e9)] = 0.2  #: share by which the perplexity of general texts may grow

    most_questions: Annotated[int, Field(ge=1, le=48)] = 48  #: that the gate asks, with the adapter and without

    def verdict(self, found: GateResult) -> str:
        """Why an adapter is refused; empty if it may be used."""
        if not found.asked:
            return "its sources answer no question that the gate could ask"
        if found.recalled < self.least_recall * found.asked:
            return (
                f"it answers {found.recalled} of {found.asked} questions that were not trained; the bound is"
                f" {self.least_recall:.0%}"
            )
        if found.perplexity > found.perplexity_before * (1 + self.most_loss):
            return (
                f"the perplexity of general texts grew from {found.perplexity_before:.2f} to {found.perplexity:.2f};"
                f" the bound is {self.most_loss:.0%} more"
            )
        return ""
