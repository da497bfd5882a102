"""Sweep: values set by hand against the values that a scope finds for itself.

theta and tau decide what an import makes of a conversation, so each pair of them gets a store of its own; m, k and w
are varied on it. LoCoMo tells which turns answer a question: what is measured is how much of that comes back. GVD has
no such key, so there it is how well segments agree with the days of talk, over all pairs of pages: two pages belong
together when they were said on one day. Days hold several topics and topics come back, so nobody scores 1.

The best of many points is the best on the data that it was chosen by. What it is worth elsewhere is told by choosing it
on all conversations but one, and measuring it on that one, for each in turn (`Swept.ahead_elsewhere`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryos.bench.agreement import agreement
from memoryos.bench.asking import RANKED_PAGES, EvidenceQuestion
from memoryos.bench.locomo_recall import BenchCorpus
from memoryos.bench.means import Estimate, estimate
from memoryos.bench.metrics import Candidate, recall, within_tokens
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.bench.ranked_entries import entries
from memoryos.bench.variants import Variant
from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.importers.load import load_conversation
from memoryos.infrastructure.vault.records import Vector
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import Embedder, load_embedder
from memoryos.operation.hierarchy.tuning import RANGES
from memoryos.operation.recall.hit import Strategy
from memoryos.scope import Scope

THETAS = (0.4, 0.5, 0.6, 0.7, 0.8)
TAUS = (3.0, 5.0, 8.0)
SEGMENTS = (5, 10, 20, 40)
PAGES = (5, 10, 20, 30)
WEIGHTS = (0.0, 1.0)  # of keywords: the paper's, and as in the F_score
SMALL, LARGE = 1024, 2048  # tokens of context


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """Manual settings; the defaults are the paper's."""

    theta: float = 0.6
    tau: float = 5.0
    m: int = 5
    k: int = 10
    w: float = 0.0

    @property
    def name(self) -> str:
        """The name in tables."""
        return f"theta {self.theta:g}, tau {self.tau:g}, m {self.m}, k {self.k}, w {self.w:g}"

    @property
    def build(self) -> tuple[float, float]:
        """The values that an import depends on."""
        return self.theta, self.tau

    @property
    def values(self) -> dict[str, float]:
        """By the fields of Settings."""
        return dict(zip(RANGES, (self.theta, self.tau, self.m, self.k, self.w), strict=True))


PAPER = SweepPoint()

P = TypeVar("P", SweepPoint, None)


@dataclass(frozen=True, slots=True)
class Recalled:
    """Recall of LoCoMo's evidence, one number per question."""

    small: Sequence[float]  #: by two_stage within 1,024 tokens
    large: Sequence[float]  #: within 2,048
    returned: Sequence[float]  #: in the pages that it returns by itself
    tokens: Sequence[float]  #: that these cost
    hybrid: Sequence[float]  #: by hybrid within 2,048: it knows neither theta nor m nor k


@dataclass(frozen=True, slots=True)
class Formed:
    """Measures of the imported segments, one number per conversation."""

    f1: Sequence[float]  #: of pairs of pages: in one segment, in one session
    purity: Sequence[float]  #: share of the pages that are of their segment's most frequent session
    segments: Sequence[float]
    extracted: Sequence[float]  #: share of the pages in segments that went to LPM extraction


@dataclass(frozen=True, slots=True)
class Result:
    """The results of one point."""

    formed: Formed
    recalled: Recalled | None  #: when the data has questions


@dataclass(frozen=True, slots=True)
class Swept:
    """The results of one data set."""

    points: Mapping[SweepPoint, Result]
    tuned: Result
    conversations: Sequence[str]  #: of each number in Formed
    asked: Sequence[str]  #: the conversation of each number in Recalled
    embedder: str

    @property
    def best(self) -> SweepPoint:
        """Of the points: by recall within 2,048 tokens, or by F1 where nothing is asked."""
        return max(self.points, key=lambda point: _score(self.points[point]))

    @property
    def best_by_cosine(self) -> SweepPoint:
        """The best of those that rank pages as the paper does."""
        return max((point for point in self.points if not point.w), key=lambda point: _score(self.points[point]))

    def ahead(self, of: SweepPoint) -> dict[str, Estimate]:
        """How far self-tuning is ahead of a point, over the same questions or conversations, by the measure."""
        return self._ahead({name: measures(self.points[of])[name] for name in self._judged})

    def ahead_elsewhere(self, *, by_cosine: bool = False) -> dict[str, Estimate]:
        """How far it is ahead of the points that are best, by the same measure, on all conversations but each one.

        Nothing when there is one conversation. `by_cosine` leaves out what ranks pages otherwise than the paper.
        """
        points = [measures(result) for point, result in self.points.items() if not (by_cosine and point.w)]
        if len(self.conversations) < 2:
            return {}
        return self._ahead({name: self._elsewhere(name, [point[name] for point in points]) for name in self._judged})

    @property
    def _judged(self) -> list[str]:
        return [name for name in measures(self.tuned) if name in JUDGED]

    def _ahead(self, others: Mapping[str, Sequence[float]]) -> dict[str, Estimate]:
        ours = measures(self.tuned)
        return {name: estimate(np.subtract(ours[name], theirs).tolist()) for name, theirs in others.items()}

    def _elsewhere(self, name: str, points: Sequence[Sequence[float]]) -> list[float]:
        """For each number of a measure, what the point gave there that is best where the conversation is another."""
        table = np.array(points)
        is_of_questions = name in {field.name for field in fields(Recalled)}
        groups = np.array(self.asked if is_of_questions else self.conversations)
        found = np.zeros(len(groups))
        for group in dict.fromkeys(groups.tolist()):
            here = groups == group
            found[here] = table[table[:, ~here].mean(axis=1).argmax(), here]
        return found.tolist()


_Answer = Callable[[MemoryOS, EvidenceQuestion], tuple[float, ...]]

#: what must not be worse than by hand; the other measures are what it costs
JUDGED = ("f1", "small", "large", "hybrid")


def measures(result: Result) -> dict[str, Sequence[float]]:
    """All measures by name."""
    parts = (result.formed, result.recalled) if result.recalled else (result.formed,)
    return {field.name: getattr(part, field.name) for part in parts for field in fields(part)}


def sweep(
    conversations: Sequence[Conversation], corpus: BenchCorpus | None, base: Settings, progress: Progress = unwatched
) -> Swept:
    """Measure every point and self-tuning on the conversations; with a corpus of them, on its questions too.

    Raises InvalidInput when somebody set a value that is swept.
    """
    if clash := sorted(RANGES.keys() & base.model_fields_set):
        raise InvalidInput(clash[0], "is set by hand", f"Unset MEMORYOS_{clash[0].upper()}: the sweep sets it")
    grid = _grid(asks=corpus is not None)
    bench = _Bench(conversations, corpus, base, _Counting(progress, _steps(len(grid), conversations, corpus)))
    points: dict[SweepPoint, Result] = {}
    for build in _builds():
        points |= bench.results([point for point in grid if point.build == build])
    (tuned,) = bench.results([None]).values()
    asked = [question.conversation for question in corpus.questions.asked] if corpus else []
    return Swept(points, tuned, [one.user for one in conversations], asked, bench.embedder.name)


def _builds() -> list[tuple[float, float]]:
    """Theta and tau of each store."""
    return [*((theta, PAPER.tau) for theta in THETAS), *((PAPER.theta, tau) for tau in TAUS if tau != PAPER.tau)]


def _grid(*, asks: bool) -> list[SweepPoint]:
    """Every theta, m and w, then tau and k with the paper's others; what is not theta or tau only where one asks."""
    if not asks:
        return [SweepPoint(theta=theta, tau=tau) for theta, tau in _builds()]
    crossed = [SweepPoint(theta=theta, m=m, w=w) for theta in THETAS for m in SEGMENTS for w in WEIGHTS]
    others = [*(SweepPoint(tau=tau) for tau in TAUS), *(SweepPoint(k=k) for k in PAGES)]
    return list(dict.fromkeys([*crossed, *others]))


def _score(result: Result) -> float:
    return float(np.mean(result.recalled.large if result.recalled else result.formed.f1))


_IMPORTING, _ASKING = "importing conversations", "asking questions"


def _steps(points: int, conversations: Sequence[Conversation], corpus: BenchCorpus | None) -> dict[str, int]:
    """How often each thing is done in all: of each store hybrid is asked once, and two_stage of each point."""
    stores, asked = len(_builds()) + 1, len(corpus.questions.asked) if corpus else 0
    return {_IMPORTING: stores * len(conversations), _ASKING: (stores + points + 1) * asked}


class _Counting:
    """Tells how far the whole sweep is, not each of its many points."""

    def __init__(self, progress: Progress, totals: Mapping[str, int]) -> None:
        self._progress = progress
        self._totals = totals
        self._done = Counter[str]()

    def __call__(self, what: str) -> None:
        self._done[what] += 1
        self._progress(what, self._done[what], self._totals[what])


class _Remembering:
    """An embedder that embeds each text once for all stores."""

    def __init__(self, embedder: Embedder) -> None:
        self.name, self.dim = embedder.name, embedder.dim
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors, shape (n, dim)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return np.array([self._known[text] for text in texts], np.float32).reshape(len(texts), self.dim)


class _Bench:
    """Stores of the same conversations, each formed by other values."""

    def __init__(
        self, conversations: Sequence[Conversation], corpus: BenchCorpus | None, base: Settings, count: _Counting
    ) -> None:
        self._conversations = conversations
        self._corpus = corpus
        self._base = base
        self._count = count
        self.embedder = _Remembering(load_embedder(base.embedder, base))

    def results(self, points: Sequence[P]) -> dict[P, Result]:
        """The results of each point; the values of the first one form the segments."""
        with TemporaryDirectory(prefix="memoryos-bench-") as folder:
            path = Path(folder) / "sweep.db"
            formed, hybrid = self._formed(path, points[0])
            return {point: Result(formed, self._recalled(path, point, hybrid)) for point in points}

    def _open(self, path: Path, point: SweepPoint | None) -> MemoryOS:
        changes = {"self_tuning": True} if point is None else {"self_tuning": False, **point.values}
        return MemoryOS.open(path, settings=self._base.model_copy(update=changes), embedder=self.embedder)

    def _formed(self, path: Path, point: SweepPoint | None) -> tuple[Formed, list[float]]:
        with self._open(path, point) as memory:
            for conversation in self._conversations:
                load_conversation(memory, conversation)
                memory.wait()
                self._count(_IMPORTING)
            shapes = [_shape(memory, Scope(user=one.user, agent=one.agent)) for one in self._conversations]
            hybrid = self._asked(memory, _by_hybrid)
        return Formed(*zip(*shapes, strict=True)), [found for (found,) in hybrid]

    def _recalled(self, path: Path, point: SweepPoint | None, hybrid: list[float]) -> Recalled | None:
        with self._open(path, point) as memory:
            rows = self._asked(memory, _by_two_stage)
        small, large, returned, tokens = zip(*rows, strict=True) if rows else ((), (), (), ())
        return Recalled(small, large, returned, tokens, hybrid) if rows else None

    def _asked(self, memory: MemoryOS, answer: _Answer) -> list[tuple[float, ...]]:
        if self._corpus is None:
            return []
        rows = []
        for question in self._corpus.asked:
            rows.append(answer(memory, question))
            self._count(_ASKING)
        return rows


def _shape(memory: MemoryOS, scope: Scope) -> tuple[float, ...]:
    """The fields of Formed."""
    sessions = {page.id: page.scope.session for page in memory.of(scope).pages.list()}
    views = memory.of(scope).segments.list(archive=True)
    homes = [(view.cube.id, sessions[page]) for view in views for page in view.page_ids]
    found = agreement([segment for segment, _ in homes], [session for _, session in homes])
    if found is None:
        return 1.0, 1.0, 0.0, 0.0
    waiting = sum(view.cube.behaviour.interactions for view in views)
    return found.pairwise_f1, found.purity, float(len(views)), 1 - waiting / len(homes)


def _by_two_stage(memory: MemoryOS, question: EvidenceQuestion) -> tuple[float, ...]:
    """The fields of Recalled but the last."""
    ranking = _ranking(memory, question, Strategy.TWO_STAGE, RANKED_PAGES)
    returned = _ranking(memory, question, Strategy.TWO_STAGE, None)
    found = (within_tokens(ranking, SMALL), within_tokens(ranking, LARGE), returned)
    tokens = float(sum(turn.tokens for turn in returned))
    return (*(_found(question, some) for some in found), tokens)


def _by_hybrid(memory: MemoryOS, question: EvidenceQuestion) -> tuple[float, ...]:
    ranking = _ranking(memory, question, Strategy.HYBRID, RANKED_PAGES)
    return (_found(question, within_tokens(ranking, LARGE)),)


def _found(question: EvidenceQuestion, entries: Sequence[Candidate]) -> float:
    return recall((entry.id for entry in entries), [[turn.id for turn in group] for group in question.evidence])


def _ranking(memory: MemoryOS, question: EvidenceQuestion, strategy: Strategy, pages: int | None) -> list[Candidate]:
    variant = Variant(strategy.value, strategy)
    return entries(variant.search(memory, question.user, question.text, pages=pages))
