"""Answer marker: signs answers with their provenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from memoryos.caller import current
from memoryos.clock import Clock
from memoryos.cube import MemCube
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


def marking(
    signing_key: Callable[[], bytes | None], clock: Clock
) -> Callable[[Iterable[MemCube], Scope], AnswerMarker]:
    """What returns the marker of an answer for which a model was shown these memories, for whoever asks."""

    def marker(shown: Iterable[MemCube], owner: Scope) -> AnswerMarker:
        sources = tuple(dict.fromkeys(cube.id for cube in shown))
        return AnswerMarker(signing_key(), current().identity, owner, sources, clock)

    return marker
