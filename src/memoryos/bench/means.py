"""Means over questions, each with the interval that other questions, or other memories, of the same kind might give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memoryos.bench.metrics import MEASURES, Measure

OVERALL = "overall"
RESAMPLES = 1000
SEED = 20231  # any fixed number: the same scores give the same intervals
TAILS = (2.5, 97.5)  # percent: a 95 % interval

Rows = Sequence[Sequence[float]]  #: one row of measures for each question


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its percentile bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of a group of questions."""

    questions: int
    estimates: Mapping[Measure, Estimate]


def summarise(
    scores: Rows, measures: Sequence[Measure] = MEASURES, *, clusters: Sequence[str] | None = None
) -> Summary:
    """The summary of one row of `measures` for each question; there must be a question.

    With the `clusters` of the questions, the interval is what other clusters might give: whole clusters are drawn.
    """
    table = np.array(scores, dtype=np.float64)
    low, high = _interval(table, range(len(table)) if clusters is None else clusters)
    columns = zip(measures, table.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return Summary(len(table), {measure: Estimate(*values) for measure, *values in columns})


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of one number per question, with at least one question."""
    column = np.array(values, dtype=np.float64)[:, None]
    low, high = _interval(column, range(len(column)))[:, 0].tolist()
    return Estimate(float(column.mean()), low, high)


def _interval(table: NDArray[np.float64], clusters: Sequence[object]) -> NDArray[np.float64]:
    """The tails of the means of RESAMPLES draws of clusters with replacement, shape (2, measures).

    A draw is how often each cluster was taken: one matrix product gives every sum, without a copy of the rows.
    """
    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    homes = np.array([numbers[cluster] for cluster in clusters])
    sums = np.zeros((len(numbers), table.shape[1]))
    np.add.at(sums, homes, table)
    draws = _draws(len(numbers))
    drawn = draws @ np.bincount(homes).astype(np.float64)
    tails: NDArray[np.float64] = np.percentile(draws @ sums / drawn[:, None], TAILS, axis=0)
    return tails


@lru_cache(maxsize=8)
def _draws(count: int) -> NDArray[np.float64]:
    return np.random.default_rng(SEED).multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(np.float64)


def by_type(types: Sequence[str | None], scores: Rows) -> dict[str, Summary]:
    """The summary of all questions and of each type that has some, by its name."""
    return {name: summarise([scores[place] for place in places]) for name, places in places_of(types).items()}


def places_of(types: Sequence[str | None]) -> dict[str, list[int]]:
    """The positions of the questions of each type, preceded by all of them; None is no type."""
    places: dict[str, list[int]] = {OVERALL: list(range(len(types)))}
    for name in sorted({name for name in types if name is not None}):
        places[name] = [place for place, one in enumerate(types) if one == name]
    return places
