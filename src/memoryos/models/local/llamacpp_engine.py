"""LlamacppEngine: a model in a GGUF file, which llama.cpp computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from threading import Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryos.errors import InvalidInput, MemoryOSError, ModelError, PromptTooLong, StateMismatch
from memoryos.interruptible import result
from memoryos.models.chat import Message
from memoryos.models.flow import Flow
from memoryos.models.local.chat_template import chat_tokens
from memoryos.models.local.fingerprint import Fingerprint
from memoryos.models.local.llamacpp_server import CAN_SAVE
from memoryos.models.local.llamacpp_servers import LlamacppServers
from memoryos.models.local.llamacpp_state import SLOT, LlamacppState
from memoryos.models.local.local_engine import (
    GREEDY,
    NO_COMPOSITION,
    NO_WATERMARK,
    KVState,
    Sampling,
    not_rounded,
    shared,
)
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.state_file import StateFile
from memoryos.models.local.watermark_evidence import WatermarkEvidence
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter

RUNTIME = "llamacpp"
_PLAIN = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0, "temperature": 0.0}


class LlamacppEngine:
    """A model of llama.cpp. Its slot holds the keys and values of the latest prompt."""

    has_states = CAN_SAVE
    is_composing = False
    has_watermark = False  # a request may favour tokens (logit_bias), but the same ones at each step

    def __init__(self, files: ModelFiles, *, window: int, threads: int) -> None:
        """Load a GGUF file. Raises ModelError."""
        if not files.is_gguf:
            raise InvalidInput(
                "llm_model", f"{files.path} is no .gguf file", "Name one, or use the runtime transformers"
            )
        self.name = files.name
        self._servers = LlamacppServers(files, window=window, threads=threads)
        self.server = self._servers.plain
        self.window = min(self.server.window, window)  # it rounds up
        digest = self._servers.digest
        self.fingerprint = Fingerprint(digest, digest, "float16", "of the file", RUNTIME, version("xllamacpp"))
        self._lock = Lock()
        self.latest: object = None  #: mark of the generation whose prompt the slot holds
        self._forgets = False  # whether the slot is to be cleared once it is free

    # Text

    def tokenise(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return self.server.tokens(text, False)

    def chat_tokens(self, messages: Sequence[Message], *, answers: bool = True) -> list[int]:
        """Return messages as tokens."""
        return chat_tokens(messages, lambda marked: self.server.filled(marked, answers), self.server.tokens)

    def check_adapter(self, adapter: WeightedAdapter) -> None:
        """Raise ModelError unless answers can have this adapter."""
        self._servers.check(adapter)

    # States

    def prefill(self, tokens: Sequence[int], after: KVState | None = None, *, adapters: Adapters = ()) -> LlamacppState:
        """Compute the state of these tokens."""
        self._check(tokens)
        with self._slot():
            self._compute(tokens, after, adapters, {"n_predict": 0})
            return LlamacppState.of(self._servers.of(adapters).saved(), adapters)

    def compose(
        self,
        blocks: Sequence[KVState],  # noqa: ARG002 - it refuses all
        *,
        recompute: int = 0,  # noqa: ARG002
        skipped: Sequence[int] = (),  # noqa: ARG002
    ) -> KVState:
        """Refuse: what a slot holds is saved and restored as a whole. Raises ModelError."""
        raise ModelError(NO_COMPOSITION)

    def distribution(
        self, tokens: Sequence[int], state: KVState | None = None, *, adapters: Adapters = ()
    ) -> NDArray[np.float32]:
        """Return the logarithm of the probability of each next token."""
        self._check(tokens)
        with self._slot():
            plain = {"logit_bias": [[self.server.tokens("a", False)[0], 1e9]]}  # of part of a letter it tells nothing
            done = self._compute(
                tokens, state, adapters, {"n_predict": 1, "n_probs": 2**20, "logprobs": 2**20, **plain}
            )
        told = done["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
        chances = np.full(max(one["id"] for one in told) + 1, -np.inf, dtype=np.float32)
        chances[[one["id"] for one in told]] = [one["logprob"] for one in told]
        return chances

    def evidence(self, text: str, watermark: bytes) -> WatermarkEvidence:  # noqa: ARG002 - it refuses all
        """Refuse: what it writes has no mark. Raises ModelError."""
        raise ModelError(NO_WATERMARK)

    def dumped(self, state: KVState, *, bits: int | None = None) -> bytes:
        """Return a state as bytes."""
        if bits is not None:
            raise not_rounded()
        known = _own(state)
        return StateFile(self.fingerprint, known.tokens, known.adapters, {SLOT: known.tensor()}).to_bytes()

    def loaded(self, data: bytes | memoryview) -> LlamacppState:
        """Read a state. Raises StateMismatch, StoreCorrupt."""
        file = StateFile.of(data)
        file.check(self.fingerprint)
        state = LlamacppState.of(file.tensors[SLOT].data, file.adapters)
        if state.tokens != file.tokens:
            raise StateMismatch("the KV state has other tokens than its file says")
        return state

    # Answers

    def generate(
        self,
        tokens: Sequence[int],
        state: KVState | None = None,
        *,
        adapters: Adapters = (),
        sampling: Sampling = GREEDY,
    ) -> LlamacppGeneration:
        """Answer a prompt. Raises PromptTooLong."""
        if len(tokens) >= self.window:
            raise PromptTooLong(len(tokens), self.window)
        self._check(tokens)
        if sampling.watermark is not None:
            raise ModelError(NO_WATERMARK)
        return LlamacppGeneration(self, tokens, state if self.has_states else None, adapters, sampling)

    def answer(self, generation: LlamacppGeneration, state: KVState | None, adapters: Adapters, body: Any) -> None:
        """Compute an answer, which the generation hears."""
        with self._slot():
            self._compute(generation.tokens, state, adapters, body, generation.heard)
            self.latest = generation.mark

    def state_after(self, mark: object, adapters: Adapters) -> LlamacppState | None:
        """The state after an answer, unless the slot has another prompt by now, or cannot be saved here."""
        if not self.has_states:
            return None
        with self._slot():
            return LlamacppState.of(self._servers.of(adapters).saved(), adapters) if self.latest is mark else None

    def forget(self) -> None:
        """Clear the slot, at once, or after the answer that is computed in it."""
        self._forgets = True
        self._clear()

    def close(self) -> None:
        """Give the memory back."""
        self._servers.close()

    @contextmanager
    def _slot(self) -> Iterator[None]:
        """Have the slot in the block; what was to be forgotten meanwhile is forgotten behind it."""
        try:
            with self._lock:
                yield
        finally:
            self._clear()

    def _clear(self) -> None:
        """Clear the slot if that is asked for and it is free; who has it does so otherwise."""
        while self._forgets and self._lock.acquire(blocking=False):
            try:
                self._forgets, self.latest = False, None
                with suppress(ModelError):  # closed; the text is erased already, and an error would deny that
                    self._servers.forget()
            finally:
                self._lock.release()

    def _compute(
        self, tokens: Sequence[int], state: KVState | None, adapters: Adapters, body: Any, heard: Any = None
    ) -> dict[str, Any]:
        """Compute with the slot; without a state nothing in it is used."""
        server, uses = self._servers.of(adapters), bool(shared(tokens, state, adapters))
        if uses and state is not None:
            server.restore(_own(state).data)
        self.latest = None
        return server.complete({**_PLAIN, "prompt": list(tokens), "cache_prompt": uses, **body}, heard)

    def _check(self, tokens: Sequence[int]) -> None:
        if not tokens:
            raise InvalidInput("tokens", "is empty", "Pass a prompt of one token or more")
        if len(tokens) > self.window:
            raise PromptTooLong(len(tokens), self.window)


class LlamacppGeneration(Iterator[str]):
    """An answer, piece by piece. A thread computes it from the first piece on."""

    def __init__(
        self,
        engine: LlamacppEngine,
        tokens: Sequence[int],
        state: KVState | None,
        adapters: Adapters,
        sampling: Sampling,
    ) -> None:
        self._engine, self._state, self._adapters, self._sampling = engine, state, adapters, sampling
        self.tokens = list(tokens)
        self.mark = object()  #: what the engine knows it by, without keeping it
        self._flow: Flow[str] = Flow()
        self._thread: Thread | None = None
        self.prompt_tokens = len(tokens)
        self.cached_tokens = shared(tokens, state, adapters)
        self.completion_tokens = 0

    def __next__(self) -> str:
        if self._thread is None:
            thread = Thread(target=self._work, name="memoryos-llamacpp", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # without memory for its stack
                raise ModelError(f"llama.cpp cannot begin to answer: {error}") from error
            self._thread = thread
        piece = result(self._flow.next())
        if piece is None:
            raise StopIteration
        return piece

    def stop(self) -> None:
        """End the answer after the token that is being computed."""
        self._flow.stop()

    def heard(self, told: dict[str, Any]) -> bool:
        """Take a piece, and say whether nobody listens any more."""
        text = told["choices"][0].get("text") if told.get("choices") else None
        if text:
            self._flow.put(text)
        if "usage" in told:
            self.completion_tokens = int(told["usage"]["completion_tokens"])
        return self._flow.is_over

    @property
    def state(self) -> LlamacppState | None:
        """The state of the prompt and of the answer, unless another prompt was computed since."""
        if self._thread is not None:
            self._thread.join()
        return self._engine.state_after(self.mark, self._adapters)

    def _work(self) -> None:
        chosen = self._sampling
        body: dict[str, Any] = {"n_predict": min(chosen.limit, self._engine.window - len(self.tokens)), "stream": True}
        if chosen.stop:
            body["stop"] = list(chosen.stop)
        if chosen.temperature > 0:
            body |= {"temperature": chosen.temperature}
        if chosen.seed is not None:
            body |= {"seed": chosen.seed}
        try:
            self._engine.answer(self, self._state, self._adapters, body)
        except MemoryOSError as error:
            self._flow.end(error)
        except Exception as error:  # noqa: BLE001 - nothing else ends the flow, and its reader waits without end
            self._flow.end(ModelError(f"llama.cpp failed: {type(error).__name__}"))
        else:
            self._flow.end()


def _own(state: KVState) -> LlamacppState:
    if not isinstance(state, LlamacppState):
        raise StateMismatch("the KV state is of another runtime than llama.cpp")
    return state
