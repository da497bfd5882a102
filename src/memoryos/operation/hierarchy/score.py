"""F_score: how well a text fits a segment (MemoryOS paper, equation 3).

F_score = cos(e_s, e_p) + |K_s ∩ K_p| / |K_s ∪ K_p|        in [-1, 2]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from memoryos.infrastructure.vault.contract import Vector
from memoryos.language.words import stems


@dataclass(frozen=True, slots=True)
class Probe:
    """One side of an F_score: a unit vector and the stems of the keywords."""

    unit: Vector
    stems: frozenset[str]

    @classmethod
    def of(cls, vector: Vector, keywords: Iterable[str]) -> Probe:
        """The probe of a text or a segment; a zero vector stays zero."""
        length = np.float32(np.linalg.norm(vector))
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


def f_score(segment: Probe, text: Probe) -> FScore:
    """The F_score of a text against a segment."""
    return FScore(float(segment.unit @ text.unit), jaccard(segment.stems, text.stems))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """`|L ∩ R| / |L ∪ R|`, in [0, 1]; 0 when both are empty."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0
