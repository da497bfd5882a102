"""Kept live: how long a question behind a prefix waits for its first token, with and without the scheduler's states.

A session asks behind several prefixes, whose states do not fit into memory together. It mostly goes from one to the
next, and sometimes elsewhere. Behind each answer is a pause until the background is done. Both ways answer the same
questions from the same built states in turn, with the real model.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean, median
from tempfile import TemporaryDirectory

from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress
from memoryos.config import Settings
from memoryos.errors import ModelError
from memoryos.memory import Memory
from memoryos.memory_os import MemoryOS
from memoryos.operation.activation.activated import ActivationView
from memoryos.operation.placement.kv_keeper import KeepingReason
from memoryos.plain import Plain

_USER = "bench"
_WORDS = 30  # of an exchange of the made-up text, at least


@dataclass(frozen=True, slots=True)
class LivePlan:
    """What is asked."""

    prefixes: int = 3
    words: int = 400  #: of a prefix
    learning: int = 6  #: questions from which the scheduler learns, which are not counted
    questions: int = 12
    follows: float = 0.8  #: share of the questions that go to the next prefix; the others go anywhere
    megabytes: int = 60  #: for states in memory
    answer_tokens: int = 1  #: so that an answer takes as long as its first token

    def names(self) -> list[str]:
        """The prefixes behind which is asked, in order."""
        draw, at, asked = Random(1), 0, list[str]()  # noqa: S311 - an order, and no secret
        for _ in range(self.learning + self.questions):
            at = (at + 1) % self.prefixes if draw.random() < self.follows else draw.randrange(self.prefixes)
            asked.append(f"prefix {at}")
        return asked


@dataclass(frozen=True, slots=True)
class LiveWay(Plain):
    """How long the questions waited, in one way."""

    name: str
    mean_ms: float  #: from the question to the end of its short answer
    median_ms: float
    slowest_ms: float
    pauses_s: float  #: what the pauses behind the answers took in all
    preloaded: int  #: states that were loaded in pauses, of the latest 64 decisions


@dataclass(frozen=True, slots=True)
class LiveReport(Plain):
    """Both ways."""

    model: str
    prefixes: int
    tokens: int  #: of the longest prefix
    state_megabytes: float  #: of the largest state, as it is stored
    megabytes: int  #: for states in memory
    questions: int
    ways: tuple[LiveWay, ...]


def measure_live(settings: Settings, plan: LivePlan, progress: Progress) -> LiveReport:
    """Build the states, and ask both ways. Raises ModelError if an answer did not use its state."""
    known = settings.model_copy(update={"llm_max_tokens": plan.answer_tokens, "local_state_mb": plan.megabytes})
    with TemporaryDirectory(prefix="memoryos-bench-") as folder:
        place = Path(folder) / "live.db"
        with MemoryOS.open(place, settings=known) as store:
            views = _built(store.memory(_USER), plan, progress)
        with ExitStack() as stores:
            ways = [
                _Way(name, stores.enter_context(MemoryOS.open(place, settings=known.model_copy(update=chosen))))
                for name, chosen in (("off", {"placement_states": False}), ("on", {"placement_states": True}))
            ]
            questions = Dialogue(seed=2).questions(plan.learning + plan.questions)
            for number, (prefix, question) in enumerate(zip(plan.names(), questions, strict=True), 1):
                for way in ways:  # in turn, so that other work on the machine is the same for both
                    way.ask(prefix, question, counts=number > plan.learning)
                progress("questions", number, len(questions))
            told = tuple(way.told() for way in ways)
    largest = max(views, key=lambda one: one.tokens)
    sizes = (plan.prefixes, largest.tokens, largest.size / 1e6, plan.megabytes, plan.questions)
    return LiveReport(largest.model, *sizes, told)


def _built(memory: Memory, plan: LivePlan, progress: Progress) -> list[ActivationView]:
    """Build the states. Raises ModelError if one cannot be used."""
    text, views = Dialogue(seed=1), []
    for number in range(plan.prefixes):
        name = f"prefix {number}"
        pages = [memory.add(*one) for one in text.exchanges(max(1, plan.words // _WORDS))]
        memory.activations.build(name, kinds=[], ids=pages)
        memory.jobs.run()
        if not (view := memory.activations.get(name)).is_usable:
            raise ModelError(f"the state of {name} cannot be used: {view.reason}")
        views.append(view)
        progress("states", number + 1, plan.prefixes)
    return views


class _Way:
    """Asks in one way."""

    def __init__(self, name: str, store: MemoryOS) -> None:
        self._is_on = store.settings.placement_states
        self._name, self._store, self._memory = name, store, store.memory(_USER)
        self._waited, self._pauses = list[float](), 0.0

    def ask(self, prefix: str, question: str, *, counts: bool) -> None:
        """Ask one question, with the pause behind it. Raises ModelError if its answer did not use the state."""
        start = time.perf_counter()
        answer = self._memory.activations.answer(prefix, question)
        told = time.perf_counter()
        if not answer.is_from_state:
            raise ModelError(f"an answer did not use the state of {prefix}: {answer.reason}")
        self._store.wait()
        if counts:
            self._waited.append(1000 * (told - start))
            self._pauses += time.perf_counter() - told

    def told(self) -> LiveWay:
        """How it did."""
        states = self._memory.schedule.explain("What?").states if self._is_on else ()
        preloaded = sum(one.is_kept and one.reason is KeepingReason.LIKELY for one in states)
        waited = self._waited
        return LiveWay(self._name, fmean(waited), median(waited), max(waited), self._pauses, preloaded)
