"""Likeness: how far the answers of one way are from those of the whole prompt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Chances = NDArray[np.float32]  # logarithms of the probabilities of the next token


def divergence(truth: Chances, told: Chances) -> float:
    """The divergence (KL) of the next token from the true one, in nats."""
    is_possible = np.isfinite(truth) & np.isfinite(told)
    sure = truth[is_possible].astype(np.float64)
    return float(max(0.0, (np.exp(sure) * (sure - told[is_possible])).sum()))


def difference(truth: Chances, told: Chances) -> float:
    """The largest difference of the probability of a next token."""
    return float(np.abs(np.exp(truth) - np.exp(told)).max())


def same_tokens(tokens: Sequence[int], truth: Sequence[int]) -> int:
    """How many tokens of two answers are the same before the first that differs."""
    pairs = enumerate(zip(tokens, truth, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(tokens), len(truth)))
