"""A run: load conversations, make contexts of every system, get answers and verdicts, and report.

Every system searches a store that only the public operations have touched. A context is made of the words of the
question, and of when it was asked where the data says so; what only the scoring may see is looked up afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.bench.answers.answer_metrics import text_scores
from memoryos.bench.answers.cache import CachedChat
from memoryos.bench.answers.item import Answered, Item
from memoryos.bench.answers.judge import expected, verdicts
from memoryos.bench.answers.question import AnswerSet, ScoringRule
from memoryos.bench.answers.reader import answers, items, side_by_side
from memoryos.bench.answers.report import Scored, SystemReport, system_report
from memoryos.bench.answers.system import Budgets, Contexts, System, paper_settings, transcript
from memoryos.bench.asking import load
from memoryos.bench.progress_callback import Progress
from memoryos.config import Settings
from memoryos.errors import InvalidInput
from memoryos.importers.dialogue import Conversation
from memoryos.importers.source import in_file
from memoryos.memory_os import MemoryOS
from memoryos.models.embedder import load_embedder
from memoryos.models.tokenizer import count_tokens
from memoryos.scope import Scope

OURS, PAPER = "ours", "paper"  # the stores


@dataclass(frozen=True, slots=True)
class Ingested:
    """The cost of filling a store, including the background work."""

    seconds: float
    model_calls: int  #: of consolidation; 0 when rules read the pages
    model_tokens: int


@dataclass(frozen=True)
class Run:
    """One measurement of a data set."""

    dataset: AnswerSet
    settings: Settings  #: of the store and of the reader
    budgets: Budgets
    progress: Progress
    ingested: dict[str, Ingested] = field(default_factory=dict)  #: by store, once it was filled

    def prompts(self, systems: Sequence[System]) -> Generator[list[Item], None, None]:
        """The contexts of each system for every question, in temporary stores."""
        ours = [system for system in systems if system is not System.TWO_STAGE]
        if ours:
            yield from self._prompts(OURS, ours, self.settings)
        if len(ours) < len(systems):
            yield from self._prompts(PAPER, [System.TWO_STAGE], paper_settings(self.settings, self.budgets.pages))

    def answered(self, systems: Sequence[System], reader: CachedChat) -> list[Answered]:
        """The reader's answers to all prompts."""
        at_once = self.settings.llm_concurrency
        with closing(self.prompts(systems)) as prompts:  # a reader that fails leaves a store open in it
            found = [answers(reader, asked, at_once, self.progress) for asked in prompts]
        return [one for answered in found for one in answered]

    def report(self, answered: Sequence[Answered], judge: CachedChat | None) -> dict[str, SystemReport]:
        """What the answers of each system are worth. Raises InvalidInput where a judge is needed and there is none."""
        check_judge(self.dataset, answered, judge)
        by_system = sorted(answered, key=lambda one: one.item.system)
        found = {name: self._scored(name, list(own), judge) for name, own in groupby(by_system, _system)}
        order = dict.fromkeys(one.item.system for one in answered)
        return {name: found[name] for name in order}

    def _scored(self, name: str, answered: list[Answered], judge: CachedChat | None) -> SystemReport:
        given = self._judged(name, answered, judge) if judge else [{} for _ in answered]
        scored = []
        unjudged = 0
        for one, verdict in zip(answered, given, strict=True):
            gold = self.dataset.gold[one.item.asked.id]
            texts = {} if gold.rule is ScoringRule.DIALOGUE else text_scores(one.answer, gold)
            scored.append(Scored(one, gold, {**texts, **verdict}))
            unjudged += judge is not None and expected(gold, verdict)
        return system_report(scored, unanswered=len(self.dataset.asked) - len(scored), unjudged=unjudged)

    def _judged(self, name: str, answered: list[Answered], judge: CachedChat) -> list[dict[str, float]]:
        dialogues = _Dialogues(self.dataset)

        def judged(one: Answered) -> dict[str, float]:
            return verdicts(judge, one, self.dataset.gold[one.item.asked.id], dialogues.of(one.item))

        total = len(answered)
        at_once = judge.settings.llm_concurrency
        return side_by_side(judged, answered, at_once, lambda done: self.progress(f"{name}: judging", done, total))

    def _prompts(self, store: str, systems: Sequence[System], settings: Settings) -> Generator[list[Item], None, None]:
        """Every question through each system that searches this store.

        The store is only read then: were visits written, a context would depend on the questions before it, and a run
        that goes on would not find the prompts that it asked before.
        """
        talks = self.dataset.conversations
        embedder = load_embedder(settings.embedder, settings)
        with TemporaryDirectory(prefix="memoryos-bench-") as folder:
            place = Path(folder) / "answers.db"
            with MemoryOS.open(place, settings=settings, embedder=embedder) as memory, in_file(self.dataset.path):
                self.ingested[store] = _filled(memory, talks, self.progress)
            with MemoryOS.open(place, settings=settings, embedder=embedder, read_only=True) as memory:
                contexts = Contexts(memory, {talk.user: talk for talk in talks}, self.budgets)
                for system in systems:
                    with in_file(self.dataset.path):
                        prompts = items(self.dataset, system, contexts, self.progress)
                    yield prompts


def _filled(memory: MemoryOS, talks: Sequence[Conversation], progress: Progress) -> Ingested:
    start = time.perf_counter()
    load(memory, talks, "importing", progress)
    seconds = time.perf_counter() - start
    spent = [one for talk in talks for one in memory.of(Scope(user=talk.user, agent=talk.agent)).log.usage()]
    tokens = sum(one.prompt_tokens + one.completion_tokens for one in spent)
    return Ingested(seconds, sum(one.calls for one in spent), tokens)


def check_judge(dataset: AnswerSet, answered: Sequence[Answered], judge: CachedChat | None) -> None:
    """Check that the data can be judged. Raises InvalidInput."""
    if not dataset.is_dialogue:
        return
    if judge is None:
        raise InvalidInput("--judge", f"is missing: {dataset.name} has no gold answers", "Add --judge or --judge-model")
    if any(one.item.context is None for one in answered):
        raise InvalidInput(
            "--answers", "a line has no context", "Send back the lines of --export, each with its answer"
        )


class _Dialogues:
    """The parts of a conversation that a judge is shown."""

    def __init__(self, dataset: AnswerSet) -> None:
        self._gold = dataset.gold
        self._turns = {
            talk.user: [turn for session in talk.sessions for turn in session.turns] for talk in dataset.conversations
        }
        self._is_needed = dataset.is_dialogue

    def of(self, item: Item) -> str:
        """The evidence of the question, or the whole conversation."""
        if not self._is_needed:
            return ""
        wanted = set(self._gold[item.asked.id].evidence)
        turns = self._turns[item.asked.conversation]
        return transcript([turn for turn in turns if not wanted or turn.source_id in wanted])


def _system(one: Answered) -> str:
    return one.item.system


def given_answer(item: Item, answer: str) -> Answered:
    """An imported answer."""
    return Answered(item, answer, count_tokens(answer))
