"""WatermarkEvidence: what the words of a text tell about the statistical mark of a store."""

from __future__ import annotations

import math
from dataclasses import dataclass

from memoryos.choice import Choice
from memoryos.plain import Plain

LEAST_Z = 4.0  # from here on the mark is found
LEAST_COUNTED = 50  # pairs of tokens; with fewer, even a marked text often stays below


class WatermarkResult(Choice):
    """What a text says about the mark."""

    FOUND = "found"  #: chance alone gives so many favoured tokens in 3 of 100,000 texts
    NOT_FOUND = "not found"  #: chance gives so many more often
    TOO_SHORT = "too short"  #: fewer than 50 pairs of tokens


@dataclass(frozen=True, slots=True)
class WatermarkEvidence(Plain):
    """How many of the tokens of a text are those that the mark favours. It is evidence, and no proof."""

    result: WatermarkResult  #: found, not found, or too short to tell
    counted: int  #: different pairs of neighbouring tokens
    favoured: int  #: pairs of them of which the mark favours the second token
    z: float | None  #: standard deviations above what chance gives; None if nothing was counted
    p: float | None  #: the chance of so many in a text without the mark; None if nothing was counted
    model: str  #: the model whose tokens were counted


def evidence_of(counted: int, favoured: int, share: float, model: str) -> WatermarkEvidence:
    """What these counts tell where the mark favours that share of all tokens (Kirchenbauer et al. 2023, equation 3)."""
    if not counted:
        return WatermarkEvidence(WatermarkResult.TOO_SHORT, 0, 0, None, None, model)
    z = (favoured - share * counted) / math.sqrt(counted * share * (1 - share))
    told = WatermarkResult.FOUND if z >= LEAST_Z else WatermarkResult.NOT_FOUND
    result = told if counted >= LEAST_COUNTED else WatermarkResult.TOO_SHORT
    return WatermarkEvidence(result, counted, favoured, z, math.erfc(z / math.sqrt(2)) / 2, model)
