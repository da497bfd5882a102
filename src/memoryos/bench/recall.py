"""Recall on any data set: what rankings find, and what `context` hands over, with plain search as the baseline.

Each user of a data set is a user of one store, which only the public operations have touched. `context` is measured
first, and counted from the source ids of its own text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from memoryos.bench.asking import Ask, EvidenceQuestion, context_of, handed_over, load, ranked, search_ms, timed
from memoryos.bench.dataset import Dataset
from memoryos.bench.means import Estimate, Rows, Summary, estimate, places_of, summarise
from memoryos.bench.metrics import MEASURES, TEXT_MEASURES, TOKEN_BUDGETS, Measure
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.variants import Variant
from memoryos.config import Settings
from memoryos.importers.source import in_file
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import Embedder
from memoryos.operation.recall.hit import Strategy

CONTEXT = "context"
BASELINES = (Strategy.BM25, Strategy.LINEAR, Strategy.DENSE)
DEFAULT = (Strategy.HYBRID, *BASELINES)
TIMED_TOKENS = 1024  # of the contexts that are timed


@dataclass(frozen=True, slots=True)
class Lead:
    """How far a result is ahead of the best baseline, over the same questions; below 0: behind."""

    baseline: str
    ahead: Estimate


@dataclass(frozen=True, slots=True)
class TypeResult:
    """The results of one strategy for one type of question."""

    by_questions: Summary
    by_memories: Summary | None  #: the same, with the interval that other users might give; None with one user
    leads: Mapping[int, Lead]  #: by budget of tokens; empty when no baseline was measured


@dataclass(frozen=True, slots=True)
class MeasuredRecall:
    """The results of one data set."""

    dataset: Dataset
    results: Mapping[str, Mapping[str, TypeResult]]  #: by way (context, then rankings), "overall" and each type
    search_ms: Mapping[str, Mapping[str, float]]  #: by way: p50 and p95


def measure(
    dataset: Dataset,
    variants: Mapping[str, Variant],
    settings: Settings,
    embedder: Embedder,
    progress: Progress = unwatched,
) -> MeasuredRecall:
    """Measure `context` and the variants in a temporary store."""
    with (
        TemporaryDirectory(prefix="memoryos-bench-") as folder,
        MemoryOS.open(Path(folder) / "recall.db", settings=settings, embedder=embedder) as memory,
        in_file(dataset.path),
    ):
        load(memory, dataset.conversations, f"{dataset.name}: importing", progress)
        told = _as_one(dataset, len(variants) + 1, progress)
        rows = {CONTEXT: handed_over(memory, dataset.asked, told)}
        rows |= {variant.name: ranked(memory, dataset.asked, variant, told) for variant in variants.values()}
        times = {CONTEXT: timed(memory, dataset.asked, _context(memory), CONTEXT, unwatched)}
        for variant in variants.values():
            times[variant.name] = search_ms(memory, dataset.asked, variant, unwatched)
    return MeasuredRecall(dataset, _groups(dataset.asked, rows), times)


def _context(memory: MemoryOS) -> Ask:
    return lambda one: context_of(memory, one, TIMED_TOKENS)


def _as_one(dataset: Dataset, ways: int, progress: Progress) -> Progress:
    """One bar for all ways: eight data sets have too many of them for a screen."""
    total, steps = ways * len(dataset.asked), count(1)
    return lambda _what, _done, _total: progress(f"{dataset.name}: asking", next(steps), total)


def _groups(asked: Sequence[EvidenceQuestion], rows: Mapping[str, Rows]) -> dict[str, dict[str, TypeResult]]:
    users = [question.user for question in asked]
    types = places_of([question.type for question in asked])
    found: dict[str, dict[str, TypeResult]] = {way: {} for way in rows}
    for name, places in types.items():
        some = {way: [scores[place] for place in places] for way, scores in rows.items()}
        baselines = {way: scores for way, scores in some.items() if way in BASELINES}
        for way, scores in some.items():
            measures = TEXT_MEASURES if way == CONTEXT else MEASURES
            found[way][name] = _group(scores, measures, [users[place] for place in places], baselines)
    return found


def _group(
    scores: Rows, measures: Sequence[Measure], users: Sequence[str], baselines: Mapping[str, Rows]
) -> TypeResult:
    several = len(set(users)) > 1
    return TypeResult(
        by_questions=summarise(scores, measures),
        by_memories=summarise(scores, measures, clusters=users) if several else None,
        leads=_leads(scores, baselines),
    )


def _leads(scores: Rows, baselines: Mapping[str, Rows]) -> dict[int, Lead]:
    """The difference to the best baseline at each budget."""
    return {budget: _lead(place, scores, baselines) for place, budget in enumerate(TOKEN_BUDGETS) if baselines}


def _lead(place: int, scores: Rows, baselines: Mapping[str, Rows]) -> Lead:
    ours = _column(scores, place)
    theirs = {way: _column(rows, place) for way, rows in baselines.items()}
    best = max(theirs, key=lambda way: theirs[way].mean())
    return Lead(best, estimate((ours - theirs[best]).tolist()))


def _column(rows: Rows, place: int) -> NDArray[np.float64]:
    return np.array([row[place] for row in rows])
