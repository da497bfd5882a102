"""What an adapter recalls: made-up facts asked in words that no template has, against the same facts in the prompt.

The facts and their questions were written by hand, before anything was measured on them. Each question is asked of the
model alone, of the model with the adapter and no text, and of the model with all facts as text and no adapter.
Questions about others show what an adapter spoils: an answer that holds a value of the user's is wrong there.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter

from memoryos.bench.kept_results import KeptResults
from memoryos.bench.progress_callback import Progress, unwatched
from memoryos.built_memory import AdapterStage, GateResult
from memoryos.config import Settings
from memoryos.errors import ModelError, StillRunning
from memoryos.memory_os import MemoryOS
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.operation.training.adapter_gate import GateBounds
from memoryos.operation.training.adapter_status import AdapterVersion
from memoryos.plain import Plain

NAME = "bench"
NO_BOUNDS = GateBounds(least_recall=0.0, most_loss=1e6)  # the figures count here, and not whether they are enough
_ANSWER_TOKENS = 24
_STAGES = 2  # of the training, as progress tells them: begun and done
_OTHERS = (
    "Where did Napoleon live?",
    "What is the capital of France?",
    "Which instrument did Beethoven play?",
    "What is the color of the sky?",
    "Name a well-known car maker.",
    "What is a common name for a dog?",
    "What does a teacher do?",
    "Which food is made from milk?",
)


@dataclass(frozen=True, slots=True)
class AskedFact:
    """A fact, and questions that ask for it."""

    fact: str
    value: str  #: what a right answer contains
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TimedAnswer(Plain):
    """What was answered, and how long it took."""

    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class WayOfKnowing(Plain):
    """How one way of knowing the facts did."""

    right: int  #: questions that were answered rightly
    asked: int  #: questions
    median_seconds: float  #: of an answer
    spoiled: int  #: questions about others that got a value of the user's


@dataclass(frozen=True, slots=True)
class AdapterReport(Plain):
    """The results of a run."""

    model: str
    facts: int
    recipe: TrainingRecipe
    steps: int  #: training steps
    training_seconds: float
    megabytes: float  #: of the adapter, 10^6 bytes
    gate: GateResult
    alone: WayOfKnowing
    adapter: WayOfKnowing
    prompt: WayOfKnowing


def asked_facts(most: int | None = None) -> list[AskedFact]:
    """The facts of the bench."""
    data = resources.files("memoryos.bench.labelled").joinpath("adapter_facts.json").read_bytes()
    return TypeAdapter(list[AskedFact]).validate_json(data)[:most]


def measure_adapter(
    facts: Sequence[AskedFact],
    recipe: TrainingRecipe,
    settings: Settings,
    progress: Progress = unwatched,
    results: KeptResults | None = None,
) -> AdapterReport:
    """Train an adapter on the facts in a store of its own, and ask. Raises Unfinished, ModelError, ModelNotConfigured.

    The store lies in the folder of the results, if they have one, so that a training goes on from its checkpoint.
    """
    kept = KeptResults(None, {}) if results is None else results
    with ExitStack() as ends:
        folder = kept.folder or Path(ends.enter_context(TemporaryDirectory(prefix="memoryos-bench-")))
        store = ends.enter_context(MemoryOS.open(folder / "adapters.db", settings=settings))
        bench = AdapterBench(store, facts, kept, progress)
        alone = bench.way("nothing")
        progress("training", 1, _STAGES)
        version = bench.trained(recipe)
        adapter = bench.way("the adapter", names=(NAME,))
        prompt = bench.way("the facts as text", told="\n".join(one.fact for one in facts) + "\n\n")
    return AdapterReport(
        version.model,
        len(facts),
        recipe,
        version.steps,
        version.seconds,
        version.size / 1e6,
        _measured(version),
        alone,
        adapter,
        prompt,
    )


class AdapterBench:
    """Asks and trains in one store what was not asked and trained before."""

    def __init__(self, store: MemoryOS, facts: Sequence[AskedFact], results: KeptResults, progress: Progress) -> None:
        self._memory, self._facts = store.memory("bench"), facts
        self._results, self._progress = results, progress
        known = {fact.text for fact in self._memory.facts.list()}
        for one in facts:
            if one.fact not in known:
                self._memory.facts.add(one.fact)

    def trained(self, recipe: TrainingRecipe) -> AdapterVersion:
        """The version that the background work made. Raises Unfinished, ModelError if it failed."""
        if NAME not in [one.name for one in self._memory.adapters.list()]:
            self._memory.adapters.train(NAME, recipe=recipe, bounds=NO_BOUNDS)
        with suppress(StillRunning):
            self._memory.jobs.run(self._results.seconds_left)
        versions = self._memory.adapters.get(NAME).versions
        if not versions or versions[-1].stage is not AdapterStage.READY:
            self._results.check()
            failed = [job.error for job in self._memory.jobs.list() if job.error]
            why = versions[-1].refused if versions else ""
            raise ModelError(f"no adapter could be trained: {(failed or [why or 'the training did not end'])[-1]}")
        return versions[-1]

    def way(self, name: str, names: Sequence[str] = (), told: str = "") -> WayOfKnowing:
        """Ask all questions, with these adapters and this text."""
        seconds, right = [], 0
        asked = [(question, fact.value) for fact in self._facts for question in fact.questions]
        for number, (question, value) in enumerate(asked, 1):
            answer = self._answer(name, names, told, question)
            seconds.append(answer.seconds)
            right += value.casefold() in answer.text.casefold()
            self._progress(f"asking with {name}", number, len(asked))
        values = [fact.value.casefold() for fact in self._facts]
        others = [self._answer(name, names, told, one).text.casefold() for one in _OTHERS]
        spoiled = sum(any(value in text for value in values) for text in others)
        return WayOfKnowing(right, len(asked), median(seconds), spoiled)

    def _answer(self, name: str, names: Sequence[str], told: str, question: str) -> TimedAnswer:
        def asked() -> TimedAnswer:
            began = time.perf_counter()
            text = self._memory.adapters.ask(told + question, names=names, limit=_ANSWER_TOKENS).text
            return TimedAnswer(text, time.perf_counter() - began)

        return self._results.once(f"{name}: {question}", TimedAnswer, asked)


def _measured(version: AdapterVersion) -> GateResult:
    if version.gate is None:
        raise ModelError("the adapter has no figures of a gate: it was not trained here")
    return version.gate
