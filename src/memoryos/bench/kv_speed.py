"""KV speed: the time to the first token with and without a KV state (MemOS paper, table 5), and whether answers agree.

The prompts are made-up text of exact lengths. The paper's queries have 302.7 and 952.7 tokens on average; ours have 303
and 953. A state is written to a file and read back before it is used, so that what is measured is what a store does.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from memoryos.bench.kept_results import KeptResults
from memoryos.bench.made_up_dialogue import Dialogue
from memoryos.bench.progress_callback import Progress
from memoryos.infrastructure.objects.blob_ref import BlobRef
from memoryos.infrastructure.objects.blobs import Blobs, new_name
from memoryos.models.local.local_engine import KVState, LocalEngine, Sampling
from memoryos.plain import Plain

CONTEXTS = (583, 2773, 6064)
QUERIES = (167, 303, 953)
PAPER = {  # speed-up in per cent of Qwen3-8B, the best of the paper's models
    (583, 167): 71.3,
    (583, 303): 55.6,
    (583, 953): 23.0,
    (2773, 167): 89.7,
    (2773, 303): 85.1,
    (2773, 953): 64.6,
    (6064, 167): 94.2,
    (6064, 303): 91.1,
    (6064, 953): 79.1,
}

Tokens = Sequence[int]


@dataclass(frozen=True, slots=True)
class KvContext(Plain):
    """The state of one context."""

    tokens: int
    build_s: float  #: seconds until it is computed
    load_ms: float  #: milliseconds from the file to a state that can be used, with its checksum
    bytes_per_token: float  #: of the file


@dataclass(frozen=True, slots=True)
class KvCell(Plain):
    """One query behind one context."""

    context: int  #: tokens
    query: int  #: tokens
    with_s: float  #: seconds to the first token with the state
    without_s: float  #: and with the whole prompt computed
    is_equal: bool  #: whether the likeliest tokens of the answers are the same
    answer_tokens: int  #: that were compared
    difference: float | None = None  #: largest, of the logarithm of a probability of the next token; None: not measured

    @property
    def speedup(self) -> float:
        """The share of the time that the state spares, in per cent."""
        return 100 * (1 - self.with_s / self.without_s)

    @property
    def paper(self) -> float | None:
        """The same in the paper."""
        return PAPER.get((self.context, self.query))


@dataclass(frozen=True, slots=True)
class KvDifference(Plain):
    """How far the next token behind a state is from that of the whole prompt."""

    largest: float  #: difference of the logarithm of a probability


@dataclass(frozen=True, slots=True)
class KvReport(Plain):
    """All cells of one model."""

    model: str
    runtime: str
    version: str
    dtype: str
    contexts: tuple[KvContext, ...]
    cells: tuple[KvCell, ...]

    @property
    def is_reached(self) -> bool:
        """Whether each cell is as fast as the paper's and answers as the text does."""
        return all(cell.is_equal and cell.speedup >= (cell.paper or 0) for cell in self.cells)


@dataclass(frozen=True, slots=True)
class KvPlan:
    """What is measured."""

    contexts: Sequence[int] = CONTEXTS
    queries: Sequence[int] = QUERIES
    answer_tokens: int = 64
    repeats: int = 1
    compares: bool = True  #: also the probabilities of the token after the first query


def measure_kv(
    engine: LocalEngine, text: Tokens, plan: KvPlan, progress: Progress, results: KeptResults | None = None
) -> KvReport:
    """Measure each context with each query; `text` has tokens enough for all. Raises Unfinished, ModelError."""
    known = engine.fingerprint
    kept = KeptResults(None, {}) if results is None else results
    bench = KvBench(engine, text, plan, kept, f"{known.runtime} {known.version}")
    engine.prefill(text[: plan.contexts[0]])  # the first computation of a process takes longer
    contexts, cells, count = [], [], len(plan.contexts) * len(plan.queries)
    for size in plan.contexts:
        contexts.append(bench.context(size))
        for query in plan.queries:
            cells.append(bench.cell(size, query))
            progress(f"cells ({known.runtime})", len(cells), count)
        bench.state = None
    return KvReport(engine.name, known.runtime, known.version, known.dtype, tuple(contexts), tuple(cells))


@dataclass
class KvBench:
    """Measures with one engine what is not measured yet."""

    engine: LocalEngine
    text: Tokens
    plan: KvPlan
    results: KeptResults
    name: str  #: of the runtime
    state: KVState | None = None  #: of the context that is being measured

    def context(self, size: int) -> KvContext:
        """The state of one context."""
        return self.results.once(f"{self.name} {size}", KvContext, lambda: self._built(size))

    def cell(self, size: int, query: int) -> KvCell:
        """One query behind it."""
        key, prompt = f"{self.name} {size} {query}", [*self.text[:size], *self.text[-query:]]
        cell = self.results.once(key, KvCell, lambda: self._cell(prompt, size))
        if not self.plan.compares or query != self.plan.queries[0]:
            return cell
        told = self.results.once(f"{key} difference", KvDifference, lambda: self._difference(prompt, size))
        return replace(cell, difference=told.largest)

    def _built(self, size: int) -> KvContext:
        tokens = self.text[:size]
        start = time.perf_counter()
        state = self.engine.prefill(tokens)
        build = time.perf_counter() - start
        data = self.engine.dumped(state)
        if (file := self._file(size)) is not None:
            file.write_bytes(data)
        with TemporaryDirectory() as folder:
            blobs, name = Blobs(Path(folder).as_uri()), new_name(BlobRef.of(data).sha256)
            blobs.put(name, data)
            start = time.perf_counter()
            self.state = self.engine.loaded(blobs.view(name))
            load = time.perf_counter() - start
        return KvContext(len(tokens), build, 1000 * load, len(data) / len(tokens))

    def _state(self, size: int) -> KVState:
        """The state of a context that was built before."""
        if self.state is None:
            file = self._file(size)
            kept = file.read_bytes() if file is not None and file.exists() else None
            self.state = self.engine.prefill(self.text[:size]) if kept is None else self.engine.loaded(kept)
        return self.state

    def _file(self, size: int) -> Path | None:
        folder = self.results.folder
        return None if folder is None else folder / f"{self.name} {size}.kv"

    def _cell(self, prompt: Tokens, size: int) -> KvCell:
        state, plan = self._state(size), self.plan
        runs = [(self._first_token(prompt, state), self._first_token(prompt, None)) for _ in range(plan.repeats)]
        return KvCell(
            size,
            len(prompt) - size,
            median(one for one, _ in runs),
            median(one for _, one in runs),
            self._answer(prompt, state) == self._answer(prompt, None),
            plan.answer_tokens,
        )

    def _first_token(self, prompt: Tokens, state: KVState | None) -> float:
        """The seconds to the first token, which need not end a character."""
        start = time.perf_counter()
        for _ in self.engine.generate(prompt, state, sampling=Sampling(1)):
            pass
        return time.perf_counter() - start

    def _answer(self, prompt: Tokens, state: KVState | None) -> str:
        return "".join(self.engine.generate(prompt, state, sampling=Sampling(self.plan.answer_tokens)))

    def _difference(self, prompt: Tokens, size: int) -> KvDifference:
        with_state, without = self.engine.distribution(prompt, self._state(size)), self.engine.distribution(prompt)
        is_possible = np.isfinite(with_state) & np.isfinite(without)
        return KvDifference(float(np.abs(with_state - without)[is_possible].max()))


def needed_tokens(plan: KvPlan) -> int:
    """How many tokens of text are needed."""
    return max(plan.contexts) + max(plan.queries)


def text_tokens(engine: LocalEngine, count: int) -> list[int]:
    """So many tokens of made-up text."""
    pages = Dialogue(seed=1).exchanges(count // 16)  # each has 30 words or more
    return engine.tokenise(" ".join(f"{query} {response}" for query, response in pages))[:count]
