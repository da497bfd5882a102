"""KV rounded: what a state of 8-bit numbers loses against the exact one (`activations.build(..., bits=8)`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from memoryos.bench.answer_likeness import difference, divergence, same_tokens
from memoryos.bench.kept_results import KeptResults
from memoryos.bench.progress_callback import Progress
from memoryos.models.local.local_engine import LocalEngine, Sampling
from memoryos.plain import Plain

BITS = 8
CONTEXTS = (128, 256, 512)


@dataclass(frozen=True, slots=True)
class RoundedPrompt(Plain):
    """One prompt behind a rounded state, against the exact one."""

    context: int  #: tokens of the state
    exact_bytes: int  #: of its file
    rounded_bytes: int
    difference: float  #: the largest one, of the probability of a next token
    kl: float  #: divergence of the next token, in nats
    is_same_first: bool  #: whether the likeliest next token is the same
    same_tokens: int  #: of the likeliest answer, before the first that differs
    answer_tokens: int  #: of the exact answer


@dataclass(frozen=True, slots=True)
class RoundedContext(Plain):
    """The prompts of one length together."""

    context: int  #: tokens of the state
    exact_bytes: float  #: a token, of its file
    rounded_bytes: float
    difference: float  #: the largest one of all prompts
    kl: float  #: the mean
    same_first: int  #: prompts whose likeliest next token is the same
    same_tokens: tuple[int, ...]  #: of each prompt
    answer_tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RoundedReport(Plain):
    """All contexts."""

    model: str
    runtime: str
    version: str
    dtype: str
    query_tokens: int
    prompts: int
    contexts: tuple[RoundedContext, ...]


@dataclass(frozen=True, slots=True)
class RoundedPlan:
    """What is measured."""

    contexts: Sequence[int] = CONTEXTS
    query_tokens: int = 32
    answer_tokens: int = 64
    prompts: int = 3

    @property
    def text_tokens(self) -> int:
        """Tokens of text that are needed."""
        return self.prompts * (max(self.contexts) + self.query_tokens)


def measure_rounded(
    engine: LocalEngine, text: Sequence[int], plan: RoundedPlan, progress: Progress, results: KeptResults
) -> RoundedReport:
    """Measure each context; `text` has tokens for all. Raises Unfinished, InvalidInput if the engine rounds nothing."""
    known, contexts = engine.fingerprint, []
    for context in plan.contexts:
        found = []
        for number in range(plan.prompts):
            start = number * (max(plan.contexts) + plan.query_tokens)
            prompt = text[start : start + context + plan.query_tokens]
            key = f"{known.runtime} {known.version} {context} {number}"
            found.append(results.once(key, RoundedPrompt, partial(_measured, engine, prompt, plan)))
            progress(f"{context} tokens", number + 1, plan.prompts)
        contexts.append(_context(found))
    told = (known.runtime, known.version, known.dtype, plan.query_tokens, plan.prompts)
    return RoundedReport(engine.name, *told, tuple(contexts))


def _measured(engine: LocalEngine, prompt: Sequence[int], plan: RoundedPlan) -> RoundedPrompt:
    context = len(prompt) - plan.query_tokens
    exact = engine.prefill(prompt[:context])
    data = engine.dumped(exact, bits=BITS)
    rounded = engine.loaded(data)
    chosen = Sampling(plan.answer_tokens)
    truth, told = (engine.distribution(prompt, state) for state in (exact, rounded))
    answers = [
        engine.tokenise("".join(engine.generate(prompt, state, sampling=chosen)))[: plan.answer_tokens]
        for state in (exact, rounded)
    ]
    return RoundedPrompt(
        context,
        len(engine.dumped(exact)),
        len(data),
        difference(truth, told),
        divergence(truth, told),
        bool(truth.argmax() == told.argmax()),
        same_tokens(*answers),
        len(answers[0]),
    )


def _context(prompts: Sequence[RoundedPrompt]) -> RoundedContext:
    tokens = prompts[0].context
    return RoundedContext(
        tokens,
        fmean(one.exact_bytes for one in prompts) / tokens,
        fmean(one.rounded_bytes for one in prompts) / tokens,
        max(one.difference for one in prompts),
        fmean(one.kl for one in prompts),
        sum(one.is_same_first for one in prompts),
        tuple(one.same_tokens for one in prompts),
        tuple(one.answer_tokens for one in prompts),
    )
