"""F_score: how well a text fits a segment (MemoryOS paper, equation 3).

F_score = cos(e_s, e_p) + |K_s ∩ K_p| / |K_s ∪ K_p|        in [-1, 2]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryos.infrastructure.vault.records import Vector
from memoryos.language.words import stems

Matrix = NDArray[np.float32]
AnyFloat = TypeVar("AnyFloat", np.float32, np.float64)


@dataclass(frozen=True, slots=True)
class Probe:
    """One side of an F_score: a unit vector and the stems of the keywords."""

    unit: Vector
    stems: frozenset[str]

    @classmethod
    def of(cls, vector: Vector, keywords: Iterable[str]) -> Probe:
        """The probe of a text or a segment; a zero vector stays zero."""
        length = np.float32(np.sqrt(vector.dot(vector)))  # as `norm` does it, in a third of the time
        return cls(vector / length if length else vector, stems(keywords))


@dataclass(frozen=True, slots=True)
class FScore:
    """An F_score and its two parts."""

    cosine: float
    jaccard: float

    @property
    def total(self) -> float:
        """The sum that is compared with the threshold."""
        return self.cosine + self.jaccard


@dataclass(frozen=True, slots=True)
class FScores:
    """The F_scores of n segments: their parts, shapes (n,)."""

    cosines: NDArray[np.float32]
    jaccards: NDArray[np.float64]

    def __getitem__(self, index: int) -> FScore:
        """The score of one segment."""
        return FScore(float(self.cosines[index]), float(self.jaccards[index]))

    def best(self, limit: int) -> list[int]:
        """The segments with the highest F_score, best first; of equal ones the earlier."""
        totals = self.cosines + self.jaccards
        if limit == 1:
            return [int(np.argmax(totals))]
        return [int(index) for index in np.argsort(-totals, kind="stable")[:limit]]


def cosines(rows: NDArray[AnyFloat], others: NDArray[AnyFloat]) -> NDArray[AnyFloat]:
    """The cosine of each row with each of the others, all of unit length, shape (rows, others).

    One number at a time: the threads of BLAS wait for each other on a busy machine.
    """
    return np.asarray(np.vecdot(rows[:, None], others[None]))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """`|L ∩ R| / |L ∪ R|`, in [0, 1]; 0 when both are empty."""
    if left.isdisjoint(right):  # most are: a page has to do with few segments
        return 0.0
    both = len(left & right)
    return both / (len(left) + len(right) - both)
