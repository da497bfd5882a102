"""WatermarkEvidence: what the words of a text tell about the statistical mark of a store."""

from __future__ import annotations

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
    favoured: int  #: those of which the mark favours the second token
    z: float | None  #: standard deviations above what chance gives; None if nothing was counted
    p: float | None  #: the chance of so many in a text without the mark; None if nothing was counted
    model: str  #: the model whose tokens were counted


def evidence_of(counted: int, favoured: int, z: float, p: float, model: str) -> WatermarkEvidence:
    """What these counts tell."""
    is_long = counted >= LEAST_COUNTED
    told = WatermarkResult.FOUND if z >= LEAST_Z else WatermarkResult.NOT_FOUND
    return WatermarkEvidence(told if is_long else WatermarkResult.TOO_SHORT, counted, favoured, z, p, model)


def nothing_counted(model: str) -> WatermarkEvidence:
    """The evidence of a text of fewer than two tokens."""
    return WatermarkEvidence(WatermarkResult.TOO_SHORT, 0, 0, None, None, model)
