"""Answer marker: signs answers with their provenance."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memoryos.clock import Clock
from memoryos.models.chat import Answer
from memoryos.scope import Scope
from memoryos.signing import ContentMark, hash_of


@dataclass(frozen=True, slots=True)
class AnswerMarker:
    """Signs the answers to one question; without a key it leaves them as they are."""

    key: bytes | None
    by: str  #: who asked
    owner: Scope
    sources: tuple[str, ...]  #: ids of the memories that the model was shown
    clock: Clock

    def __call__(self, answer: Answer) -> Answer:
        """The answer with its mark."""
        if self.key is None:
            return answer
        told = (self.clock(), self.by, self.owner.tenant, self.owner.user, answer.model, self.sources)
        return replace(answer, mark=ContentMark(*told, hash_of(answer.text)).signed(self.key))
