"""LocalEngine: a language model that runs in this process, as two runtimes offer it.

A prompt is always passed as a whole. A KV state says which tokens it was computed from, and an engine uses it for as
many of the first tokens as are the same, so a state that does not fit costs time and never changes an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memoryos.errors import InvalidInput
from memoryos.models.chat import Message
from memoryos.models.local.fingerprint import Fingerprint
from memoryos.models.local.watermark_evidence import WatermarkEvidence
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter

NO_COMPOSITION = "llama.cpp cannot put KV states together here: its server moves no keys; use transformers"
NO_WATERMARK = (
    "llama.cpp has no watermark here: its server chooses all tokens of an answer by itself; set"
    " MEMORYOS_LOCAL_RUNTIME to transformers, or MEMORYOS_ANSWER_WATERMARK to false"
)


class KVState(Protocol):
    """The keys and values of the first tokens of a prompt. Nothing changes it."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens that it was computed from."""
        ...

    @property
    def adapters(self) -> Adapters:
        """The adapters that took part."""
        ...

    @property
    def nbytes(self) -> int:
        """How much memory it takes, in bytes."""
        ...


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is chosen, and where it ends."""

    limit: int = 512  #: the most tokens
    temperature: float = 0.0  #: 0: always the likeliest token
    stop: tuple[str, ...] = ()  #: texts before which the answer ends
    seed: int | None = None  #: for a temperature above 0; None: another answer each time
    watermark: bytes | None = field(default=None, repr=False)  #: key of the mark in its words; None: without


GREEDY = Sampling()


class Generation(Iterator[str], Protocol):
    """An answer, piece by piece."""

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt."""
        ...

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that a KV state spared, known from the first piece on."""
        ...

    @property
    def completion_tokens(self) -> int:
        """Tokens of the answer so far."""
        ...

    @property
    def state(self) -> KVState | None:
        """The state after the last piece, for a prompt that goes on from here; None if the runtime has none."""
        ...

    def stop(self) -> None:
        """End the answer, also from another thread."""
        ...


class LocalEngine(Protocol):
    """A language model in this process. Threads may share one; it computes for one at a time."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    @property
    def fingerprint(self) -> Fingerprint:
        """What a KV state and an adapter must fit."""
        ...

    @property
    def window(self) -> int:
        """How many tokens a prompt and its answer may have together."""
        ...

    @property
    def is_composing(self) -> bool:
        """Whether it puts KV states together; else `compose` raises ModelError."""
        ...

    @property
    def has_states(self) -> bool:
        """Whether the model has KV states; one with sliding windows has none, and `prefill` raises ModelError."""
        ...

    def check_adapter(self, adapter: WeightedAdapter) -> None:
        """Raise ModelError unless answers can have this adapter: it fits the model, and its files are whole."""
        ...

    @property
    def has_watermark(self) -> bool:
        """Whether answers can have a watermark; otherwise an answer with one raises ModelError."""
        ...

    def tokenise(self, text: str) -> list[int]:
        """Return the tokens of a text. What looks like a control token in it is read as plain characters."""
        ...

    def chat_tokens(self, messages: Sequence[Message], *, answers: bool = True) -> list[int]:
        """Return messages as tokens, by the model's own template; with `answers`, up to where its answer begins.

        What looks like a control token in a message is read as plain characters: no message can end itself.
        """
        ...

    def prefill(self, tokens: Sequence[int], after: KVState | None = None, *, adapters: Adapters = ()) -> KVState:
        """Compute the state of these tokens; `after` is the state of their beginning, if there is one."""
        ...

    def compose(self, blocks: Sequence[KVState], *, recompute: int = 0, skipped: Sequence[int] = ()) -> KVState:
        """Put states together that were computed by themselves, in this order. Raises ModelError if it cannot.

        So many first tokens of each are `skipped` (default: none), as a template writes them only once.
        The first `recompute` tokens of each block but the first are computed anew behind what stands before them; the
        others have not read it, so the state is not exact. One block alone is as it was.
        """
        ...

    def generate(
        self,
        tokens: Sequence[int],
        state: KVState | None = None,
        *,
        adapters: Adapters = (),
        sampling: Sampling = GREEDY,
    ) -> Generation:
        """Answer a prompt. Raises PromptTooLong, ModelError; a state that does not fit is not used."""
        ...

    def distribution(
        self, tokens: Sequence[int], state: KVState | None = None, *, adapters: Adapters = ()
    ) -> NDArray[np.float32]:
        """Return the logarithm of the probability of each token of the vocabulary to be the next one."""
        ...

    def evidence(self, text: str, watermark: bytes) -> WatermarkEvidence:
        """Return what the words of a text tell about the watermark of that key. Raises ModelError if it has none."""
        ...

    def dumped(self, state: KVState, *, bits: int | None = None) -> bytes:
        """Return a state as bytes: safetensors with the fingerprint. With `bits=8` it is smaller, and not exact."""
        ...

    def loaded(self, data: bytes | memoryview) -> KVState:
        """Read a state. Raises StateMismatch if it is of another model, StoreCorrupt if it is not a state."""
        ...

    def forget(self) -> None:
        """Let go what it holds of the last prompt, at once, or after the answer that it computes. Never waits."""
        ...

    def close(self) -> None:
        """Give the memory back."""
        ...


def shared(tokens: Sequence[int], state: KVState | None, adapters: Adapters) -> int:
    """How many of the first tokens the state has; the last token is always computed, for its prediction."""
    if state is None or state.adapters != adapters:
        return 0
    most = min(len(tokens) - 1, len(state.tokens))
    if tuple(tokens[:most]) == state.tokens[:most]:
        return most
    return next(place for place in range(most) if tokens[place] != state.tokens[place])


def not_rounded() -> InvalidInput:
    """The error of a runtime that has no smaller states."""
    return InvalidInput("bits", "is not possible with llama.cpp", "Leave it out, or use the runtime transformers")
