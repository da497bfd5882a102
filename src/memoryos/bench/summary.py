"""Means over questions, each with the interval that other questions of the same kind might give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoryos.bench.metrics import MEASURES, Measure

OVERALL = "overall"
RESAMPLES = 1000
SEED = 20231  # any fixed number: the same scores give the same intervals
TAILS = (2.5, 97.5)  # percent: a 95 % interval


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its percentile bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What a group of questions gave."""

    questions: int
    estimates: Mapping[Measure, Estimate]


def summarise(scores: Sequence[Sequence[float]]) -> Summary:
    """The summary of one row of MEASURES for each question; there must be a question."""
    table = np.array(scores, dtype=np.float64)
    low, high = _interval(table)
    columns = zip(MEASURES, table.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return Summary(len(table), {measure: Estimate(*values) for measure, *values in columns})


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of one number for each question; there must be a question."""
    column = np.array(values, dtype=np.float64)[:, None]
    low, high = _interval(column)[:, 0].tolist()
    return Estimate(float(column.mean()), low, high)


def _interval(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The tails of the means of RESAMPLES draws with replacement, shape (2, measures).

    A draw is how often each question was taken: one matrix product gives every mean, without a copy of the rows.
    """
    count = len(table)
    draws = np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=RESAMPLES)
    tails: NDArray[np.float64] = np.percentile(draws @ table / count, TAILS, axis=0)
    return tails


def by_category(categories: Sequence[int], scores: Sequence[Sequence[float]]) -> dict[str, Summary]:
    """The summary of all questions and of each category that has some, by its number."""
    rows: dict[str, list[Sequence[float]]] = {OVERALL: list(scores)}
    for category, row in sorted(zip(categories, scores, strict=True), key=lambda pair: pair[0]):
        rows.setdefault(str(category), []).append(row)
    return {name: summarise(group) for name, group in rows.items()}
