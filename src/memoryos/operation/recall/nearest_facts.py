"""The facts nearest to a question: those at hand in LPM, and those that had to make room for newer ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from memoryos.cached_property import cached_property
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.records import Entry, Vector
from memoryos.kinds import State, Subject, Tier
from memoryos.operation.index.fact_words import share_of
from memoryos.operation.index.resident import Resident
from memoryos.operation.knowledge.filling import Slot
from memoryos.operation.knowledge.slot import filled
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import Strategy
from memoryos.operation.recall.two_stage import cosine

WORDS = 0.5  # of a question, beside a cosine: half of what BM25 counts for turns, for every fact has few words
_BY_WORDS, _BY_MEANING = (0.0, 1.0), (1.0, 0.0)  # what a cosine and all of the words count
_COUNTED = {  # the paper's LPM is searched by meaning alone (MemoryOS paper, section 3.4)
    Strategy.BM25: _BY_WORDS,
    Strategy.DENSE: _BY_MEANING,
    Strategy.TWO_STAGE: _BY_MEANING,
}


@dataclass(frozen=True, slots=True)
class FactLikeness:
    """The comparison of facts with a question: by meaning, and by words weighted by rarity."""

    question: Vector
    weights: Mapping[str, float]  #: of the question's stems
    shares: Mapping[str, float] | None  #: of these weights, of each indexed fact that has some, by id; None: no index
    meaning: float  #: what a cosine of 1 counts
    words: float  #: what all of the words count

    @classmethod
    def of(
        cls, resident: Resident, asked: Asked, strategy: Strategy, known: Collection[str] | None = None
    ) -> FactLikeness:
        """The likeness to a question, under a strategy; only words of the `known` facts are counted, None: of all."""
        with resident.lock:
            weights = resident.fact_words.weights(asked.all_words, known)
            return cls.by(asked, weights, strategy, resident.fact_words.shares(weights))

    @classmethod
    def by(
        cls, asked: Asked, weights: Mapping[str, float], strategy: Strategy, shares: Mapping[str, float] | None = None
    ) -> FactLikeness:
        """The likeness to a question whose stems have these weights."""
        meaning, words = _COUNTED.get(strategy, (1.0, WORDS))
        return cls(asked.vector, weights, shares, meaning, words)

    def evicted(self, resident: Resident, subject: Subject) -> Iterator[Entry]:
        """The facts that left LPM, those most like the question first."""
        more = {fact_id: self.words * share for fact_id, share in (self.shares or {}).items()}
        return resident.evicted_facts(subject, self.meaning * self.question, more)

    def parts(self, fact: Entry) -> dict[str, float]:
        """The parts of the score of a fact."""
        found = {
            "cosine": self.meaning * cosine(fact.vector, self.question),
            "words": self.words * self._share(fact.cube),
        }
        return {name: part for name, part in found.items() if part} or {"cosine": 0.0}

    def _share(self, fact: MemCube) -> float:
        """How much of the question's words a fact has; its text is read only if it is not indexed, as former ones."""
        if self.shares is None or fact.state is State.MERGED:
            return share_of(fact.text, self.weights)
        return self.shares.get(fact.id, 0.0)


class Outdated:
    """Tells which archived facts the facts at hand repeat or replace: nobody compared them when they came."""

    def __init__(self, at_hand: Sequence[MemCube]) -> None:
        self._at_hand = at_hand

    def holds(self, cube: MemCube) -> bool:
        """Whether this is such a fact."""
        if cube.tier is not Tier.ARCHIVE:
            return False
        return cube.text.casefold() in self._texts or bool(self._slots.intersection(_slots([cube])))

    @cached_property
    def _texts(self) -> set[str]:
        return {cube.text.casefold() for cube in self._at_hand}

    @cached_property
    def _slots(self) -> set[Slot]:
        return set(_slots(self._at_hand))


def outdated(facts: Sequence[Entry]) -> Outdated:
    """A test for archived facts that facts of LPM repeat or replace."""
    return Outdated([entry.cube for entry in facts if entry.cube.tier is Tier.LPM])


def _slots(cubes: Sequence[MemCube]) -> Iterator[Slot]:
    found = (filled(cube.text, cube.descriptive.event_at) for cube in cubes)
    return (one.slot for one in found if one)
