"""Compression: how much of a conversation a text of so many tokens covers, and how much of the evidence it tells.

Four ways to fill a budget: the latest turns alone, a digest, a digest for the question, and the context of a search.
A day is told when the text has a turn or a line of that day alone; it is covered when a line for a longer run of turns
has it, too. Of the evidence of a question counts how much of its words stands in the text, sentence by sentence: a
summary that says the same in other words gets nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from memoryos.bench.evidence import Question
from memoryos.bench.locomo_recall import BenchCorpus
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.config import Settings
from memoryos.cube import Turn
from memoryos.importers.load import load_conversation
from memoryos.language.sentences import split_sentences
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import load_embedder
from memoryos.models.tokenizer import count_tokens
from memoryos.operation.recall.digest import Digest
from memoryos.scope import Scope

BUDGETS = (128, 256, 512, 1024, 2048, 4096)


class Method(StrEnum):
    """A way to fill a budget."""

    LATEST = "latest"  # the latest turns, as a prompt that is cut off has them
    DIGEST = "digest"
    ASKED_DIGEST = "digest+query"
    CONTEXT = "context"  # what a search for the question found


@dataclass(frozen=True, slots=True)
class Filled:
    """A text, and the share of a conversation's days that it is about."""

    text: str
    tokens: int
    told: float
    covered: float


@dataclass(frozen=True, slots=True)
class CompressionPoint:
    """Means over the questions, for one method and one budget."""

    budget: int
    tokens: float  #: that the text took
    told: float  #: share of the days with a line of their own
    covered: float  #: share of the days in any line
    recall: float  #: share of the evidence's words in the text

    @property
    def told_per_thousand(self) -> float:
        """Share of the days told for a thousand tokens."""
        return 1000 * self.told / self.tokens if self.tokens else 0.0

    @property
    def recall_per_thousand(self) -> float:
        """Share of the evidence for a thousand tokens."""
        return 1000 * self.recall / self.tokens if self.tokens else 0.0


@dataclass(frozen=True, slots=True)
class CompressionReport:
    """The results of a run."""

    points: Mapping[Method, tuple[CompressionPoint, ...]]  #: by budget, ascending
    conversations: int
    questions: int
    tokens: float  #: of a conversation, all of it in full, on average
    embedder: str


def measure_compression(
    corpus: BenchCorpus, settings: Settings, progress: Progress = unwatched, *, budgets: Sequence[int] = BUDGETS
) -> CompressionReport:
    """Measure every method at every budget, in a temporary store."""
    embedder = load_embedder(settings.embedder, settings)
    rows: dict[tuple[Method, int], list[tuple[float, ...]]] = {}
    asked = corpus.questions.asked
    with (
        TemporaryDirectory(prefix="memoryos-bench-") as folder,
        MemoryOS.open(Path(folder) / "compression.db", settings=settings, embedder=embedder) as memory,
    ):
        talks = {talk.name: talk for talk in _loaded(memory, corpus, progress)}
        for number, question in enumerate(asked, 1):
            talk = talks[question.conversation]
            for method, budget, filled in _filled(memory, talk, question, budgets):
                row = (filled.tokens, filled.told, filled.covered, talk.recall(question, filled.text))
                rows.setdefault((method, budget), []).append(row)
            progress("asking", number, len(asked))
    means = {key: np.mean(found, axis=0).tolist() for key, found in rows.items()}
    return CompressionReport(
        points={
            method: tuple(CompressionPoint(budget, *means[method, budget]) for budget in budgets) for method in Method
        },
        conversations=len(talks),
        questions=len(asked),
        tokens=float(np.mean([talk.tokens for talk in talks.values()])),
        embedder=embedder.name,
    )


class _Talk:
    """One conversation, and the texts about it that do not depend on a question."""

    def __init__(self, memory: MemoryOS, name: str, turns: Sequence[Turn]) -> None:
        self.name = name
        self.turns = turns
        self.tokens = sum(count_tokens(_line(turn)) for turn in turns)
        self.by_id = {turn.source_id: turn for turn in turns}
        self.days = {_day(turn) for turn in turns}
        self.latest: Callable[[int], Filled] = lru_cache(None)(self._latest)
        self.digest: Callable[[int], Filled] = lru_cache(None)(
            lambda budget: of_digest(memory.of(Scope(user=name)).digest(tokens=budget))
        )

    def filled(self, text: str, tokens: int, ids: Sequence[str]) -> Filled:
        """A text of whole turns."""
        share = len({_day(self.by_id[name]) for name in ids if name in self.by_id}) / len(self.days)
        return Filled(text, tokens, share, share)

    def recall(self, question: Question, text: str) -> float:
        """How much of the evidence's words stands in the text."""
        told = " ".join(text.split())
        return float(np.mean([quoted(self.by_id[name].words, told) for name in question.evidence]))

    def _latest(self, budget: int) -> Filled:
        taken: list[Turn] = []
        for turn in reversed(self.turns):
            if count_tokens("\n".join(map(_line, [turn, *taken]))) > budget:
                break
            taken.insert(0, turn)
        text = "\n".join(map(_line, taken))
        return self.filled(text, count_tokens(text), [turn.source_id or "" for turn in taken])


def quoted(words: str, text: str) -> float:
    """The share of the words, in characters, whose sentences stand in the text (white space as single blanks)."""
    found = [" ".join(sentence.split()) for sentence in split_sentences(words)]
    total = sum(map(len, found))
    return sum(len(sentence) for sentence in found if sentence in text) / total if total else 0.0


def of_digest(digest: Digest) -> Filled:
    """A digest as one of the texts."""
    return Filled(digest.text, digest.tokens, digest.resolved, digest.covered)


def _loaded(memory: MemoryOS, corpus: BenchCorpus, progress: Progress) -> Iterator[_Talk]:
    for number, conversation in enumerate(corpus.conversations, 1):
        load_conversation(memory, conversation)
        memory.wait()
        turns = [turn for session in conversation.sessions for turn in session.turns]
        yield _Talk(memory, conversation.user, turns)
        progress("importing", number, len(corpus.conversations))


def _filled(
    memory: MemoryOS, talk: _Talk, question: Question, budgets: Sequence[int]
) -> Iterator[tuple[Method, int, Filled]]:
    """The text of each method within each budget."""
    scope = Scope(user=talk.name)
    for budget in budgets:
        yield Method.LATEST, budget, talk.latest(budget)
        yield Method.DIGEST, budget, talk.digest(budget)
        yield Method.ASKED_DIGEST, budget, of_digest(memory.of(scope).digest(tokens=budget, query=question.text))
        context = memory.of(scope).context(question.text, tokens=budget)
        yield Method.CONTEXT, budget, talk.filled(context.text, context.tokens, context.source_ids)


def _line(turn: Turn) -> str:
    return f"[{_day(turn)}] {turn.speaker or turn.role.value}: {turn.words}"


def _day(turn: Turn) -> date:
    if turn.at is None:
        raise ValueError(f"turn {turn.source_id} of a corpus has no time")
    return turn.at.date()
