"""Abstention: how well the confidence of a search tells questions that memory can answer from those that it cannot.

Each conversation is asked the questions of its data set, which it answers; questions about things that nobody said
(`never_said`); LoCoMo's adversarial questions, which are about the wrong person; and open messages, which are never to
be refused. A question is refused when its confidence is below the setting `abstain_below`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from memoryos.bench.asking import EvidenceQuestion, context_of, load
from memoryos.bench.dataset import Dataset
from memoryos.bench.metrics import TOKEN_BUDGETS, text_scores
from memoryos.bench.never_said import NEVER, OPEN, questions_about
from memoryos.bench.progress_callback import Progress, each, unwatched
from memoryos.config import Settings
from memoryos.importers.source import in_file
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import Embedder
from memoryos.scope import Scope

ANSWERABLE, NEVER_SAID, ADVERSARIAL, OPEN_MESSAGES = "answerable", "never_said", "adversarial", "open"
UNANSWERABLE = (NEVER_SAID, ADVERSARIAL)
BINS = 10  # of the calibration error

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Roc:
    """How well a score separates two classes."""

    auc: float  #: the probability that an answerable question has the higher confidence; half of a tie counts
    refused: Floats  #: of the answerable questions, the share below each confidence, shape (n,), ascending
    caught: Floats  #: of the others, shape (n,)
    ece: float  #: expected calibration error, when both classes are as frequent

    @classmethod
    def of(cls, answerable: Floats, others: Floats) -> Roc:
        """The curve over all confidences that occur."""
        levels = np.append(np.unique(np.concatenate([answerable, others])), np.inf)
        refused, caught = (_below(levels, found) for found in (answerable, others))
        return cls(float(np.trapezoid(caught, refused)), refused, caught, _calibration_error(answerable, others))

    def points(self, count: int) -> list[tuple[float, float]]:
        """`count` points, evenly along the curve, as (refused, caught)."""
        chosen = np.unique(np.linspace(0, len(self.refused) - 1, count).round().astype(int))
        return [(float(self.refused[place]), float(self.caught[place])) for place in chosen]


@dataclass(frozen=True, slots=True)
class MeasuredAbstention:
    """The results of one data set."""

    dataset: Dataset
    confidence: Mapping[str, Floats]  #: by class, in the order asked; a class without a question is left out
    lost: Mapping[int, float]  #: evidence recall of `context` that refusals cost, by budget of tokens
    threshold: float

    def below(self, name: str) -> float:
        """The share of a class that is refused."""
        return float((self.confidence[name] < self.threshold).mean())

    @property
    def curves(self) -> dict[str, Roc]:
        """The curve for each class of questions that cannot be answered."""
        return {
            name: Roc.of(self.confidence[ANSWERABLE], self.confidence[name])
            for name in UNANSWERABLE
            if name in self.confidence
        }


def measure(
    dataset: Dataset, settings: Settings, embedder: Embedder, progress: Progress = unwatched
) -> MeasuredAbstention:
    """Measure in a temporary store."""
    asked = _asked(dataset)
    with (
        TemporaryDirectory(prefix="memoryos-bench-") as folder,
        MemoryOS.open(
            Path(folder) / "recall.db", settings=settings.model_copy(update={"abstain_below": 0.0}), embedder=embedder
        ) as memory,
        in_file(dataset.path),
    ):
        load(memory, dataset.conversations, f"{dataset.name}: importing", progress)
        found = {name: _confidence(memory, some, f"{dataset.name}: {name}", progress) for name, some in asked.items()}
        refused = found[ANSWERABLE] < settings.abstain_below
        lost = _lost(memory, [one for one, is_lost in zip(dataset.asked, refused, strict=True) if is_lost])
    return MeasuredAbstention(
        dataset, found, {at: all_ / len(refused) for at, all_ in lost.items()}, settings.abstain_below
    )


def _asked(dataset: Dataset) -> dict[str, Sequence[EvidenceQuestion]]:
    classes: dict[str, Sequence[EvidenceQuestion]] = {ANSWERABLE: dataset.asked}
    for name, kind in ((NEVER_SAID, NEVER), (OPEN_MESSAGES, OPEN)):
        pairs = ((one.user, text) for one in dataset.conversations for text in questions_about(one, kind))
        classes[name] = [EvidenceQuestion(user, text, name, ()) for user, text in pairs]
    return classes | ({ADVERSARIAL: dataset.adversarial} if dataset.adversarial else {})


def _confidence(memory: MemoryOS, asked: Sequence[EvidenceQuestion], what: str, progress: Progress) -> Floats:
    found = [
        memory.of(Scope(user=one.user)).search(one.text, as_of=one.at).confidence for one in each(asked, what, progress)
    ]
    return np.array(found)


def _lost(memory: MemoryOS, refused: Sequence[EvidenceQuestion]) -> dict[int, float]:
    """The total recall of the contexts of these questions, by budget."""
    sums = dict.fromkeys(TOKEN_BUDGETS, 0.0)
    for one in refused:
        texts = {budget: context_of(memory, one, budget).source_ids for budget in TOKEN_BUDGETS}
        for budget, recalled in zip(TOKEN_BUDGETS, text_scores(texts, one.evidence), strict=False):
            sums[budget] += recalled
    return sums


def _below(levels: Floats, found: Floats) -> Floats:
    return np.searchsorted(np.sort(found), levels) / len(found)


def _calibration_error(answerable: Floats, others: Floats) -> float:
    """The mean distance between predicted and observed frequency, over BINS of confidence."""
    promised = np.concatenate([answerable, others])
    came_true = np.repeat([1.0, 0.0], [len(answerable), len(others)])
    weights = np.repeat([0.5 / len(answerable), 0.5 / len(others)], [len(answerable), len(others)])
    bins = np.minimum((promised * BINS).astype(int), BINS - 1)
    gaps = np.bincount(bins, weights * (promised - came_true), BINS)
    return float(np.abs(gaps).sum())
