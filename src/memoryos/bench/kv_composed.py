"""KV composed: states of blocks that were computed by themselves and put together, against the whole prompt.

The same prompt is answered three ways: all of it computed, with the exact state of all its blocks, and with a state
that is composed of the blocks' own states. What is measured is the time to the first token, how far the probabilities
of that token are from those of the whole prompt (KL), and how much of the likeliest answer is the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from memoryos.bench.answer_likeness import Chances, divergence, same_tokens
from memoryos.bench.progress_callback import Progress
from memoryos.models.local.local_engine import KVState, LocalEngine, Sampling
from memoryos.plain import Plain

RECOMPUTED = (0, 16, 64)  # tokens at the beginning of each block

WayKey = tuple[str, int | None]  # a name, and how many tokens of each block are computed anew


@dataclass(frozen=True, slots=True)
class ComposedWay(Plain):
    """One way to answer the prompts of one run."""

    name: str  #: whole, exact, or composed
    recompute: int | None  #: tokens of each block that were computed anew; None: the way composes nothing
    first_token_s: float  #: median seconds to the first token, with putting the blocks together
    kl: float  #: mean divergence of the next token from that of the whole prompt, in nats
    same_first: int  #: prompts whose likeliest next token is that of the whole prompt
    same_tokens: float  #: share of the likeliest answer up to the first token that differs
    same_answers: int  #: prompts whose likeliest answer is the same


@dataclass(frozen=True, slots=True)
class ComposedReport(Plain):
    """All ways."""

    model: str
    runtime: str
    version: str
    dtype: str
    blocks: int  #: of each prompt
    block_tokens: int
    query_tokens: int
    answer_tokens: int
    prompts: int
    ways: tuple[ComposedWay, ...]


@dataclass(frozen=True, slots=True)
class ComposedPlan:
    """What is measured."""

    blocks: int = 4
    block_tokens: int = 256
    query_tokens: int = 64
    answer_tokens: int = 32
    prompts: int = 5
    recomputed: Sequence[int] = RECOMPUTED

    @property
    def prompt_tokens(self) -> int:
        """Tokens of one prompt."""
        return self.blocks * self.block_tokens + self.query_tokens


@dataclass(frozen=True, slots=True)
class _Answered:
    seconds: float
    chances: Chances
    tokens: Sequence[int]


def measure_composed(
    engine: LocalEngine, text: Sequence[int], plan: ComposedPlan, progress: Progress
) -> ComposedReport:
    """Measure each way on each prompt; `text` has tokens for all. Raises ModelError if the engine cannot compose."""
    found: dict[WayKey, list[_Answered]] = {}
    size = plan.prompt_tokens
    for number in range(plan.prompts):
        for key, answered in _answers(engine, text[number * size : (number + 1) * size], plan):
            found.setdefault(key, []).append(answered)
        progress("prompts", number + 1, plan.prompts)
    whole, known = found["whole", None], engine.fingerprint
    ways = tuple(_way(key, answers, whole) for key, answers in found.items())
    told = (plan.blocks, plan.block_tokens, plan.query_tokens, plan.answer_tokens, plan.prompts)
    return ComposedReport(engine.name, known.runtime, known.version, known.dtype, *told, ways)


def _answers(engine: LocalEngine, prompt: Sequence[int], plan: ComposedPlan) -> Iterator[tuple[WayKey, _Answered]]:
    size, end = plan.block_tokens, plan.blocks * plan.block_tokens
    states = [engine.prefill(prompt[start : start + size]) for start in range(0, end, size)]
    exact = engine.prefill(prompt[:end])
    yield ("whole", None), _answered(engine, prompt, lambda: None, plan)
    yield ("exact", None), _answered(engine, prompt, lambda: exact, plan)
    for count in plan.recomputed:
        composed = partial(engine.compose, states, recompute=count)
        yield ("composed", count), _answered(engine, prompt, composed, plan)


def _answered(
    engine: LocalEngine, prompt: Sequence[int], made: Callable[[], KVState | None], plan: ComposedPlan
) -> _Answered:
    start = time.perf_counter()
    state = made()
    pieces = engine.generate(prompt, state, sampling=Sampling(plan.answer_tokens))
    first = next(pieces, "")
    seconds = time.perf_counter() - start
    said = engine.tokenise(first + "".join(pieces))
    return _Answered(seconds, engine.distribution(prompt, state), said)


def _way(key: WayKey, answers: Sequence[_Answered], whole: Sequence[_Answered]) -> ComposedWay:
    pairs = list(zip(answers, whole, strict=True))
    return ComposedWay(
        *key,
        median(one.seconds for one in answers),
        float(np.mean([divergence(truth.chances, one.chances) for one, truth in pairs])),
        sum(int(one.chances.argmax() == truth.chances.argmax()) for one, truth in pairs),
        float(np.mean([_agreed(one.tokens, truth.tokens) for one, truth in pairs])),
        sum(one.tokens == truth.tokens for one, truth in pairs),
    )


def _agreed(tokens: Sequence[int], truth: Sequence[int]) -> float:
    longest = max(len(tokens), len(truth))
    return same_tokens(tokens, truth) / longest if longest else 1.0
