"""LocalChat: a chat model in this process.

It keeps the KV states of the latest conversations in memory: the next prompt of a conversation begins like the last
one, and only what is new in it is computed. A conversation uses states of its own user alone: how much a state spares
tells how a prompt of another one began. The states hold nothing that is not stored as text as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from threading import Lock

from uuid_utils.compat import uuid7

from memoryos.config import LOCAL, LocalRuntime, Settings
from memoryos.errors import MemoryOSError, ModelError
from memoryos.models.asker import asker
from memoryos.models.chat import EMPTY, Answer, Message, Usage, answer_tokens, visible, without_reasoning
from memoryos.models.local.kept_states import KeptStates
from memoryos.models.local.local_engine import (
    NO_WATERMARK,
    Generation,
    KVState,
    LocalEngine,
    Sampling,
    not_rounded,
    shared,
)
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.opened_engines import opened, runtime_of
from memoryos.models.local.weighted_adapter import Adapters
from memoryos.models.shapes import storable

_ANSWER_TOKENS = 512  # the longest answer, unless `llm_max_tokens` is set
_MEGABYTE = 1_000_000


class LocalChat:
    """A chat model on a local engine, which is loaded at the first question."""

    def __init__(
        self, load: Callable[[], LocalEngine], settings: Settings, runtime: LocalRuntime | None = None
    ) -> None:
        """Ask the engine that `load` returns, which is of that runtime."""
        self._load, self._runtime = load, runtime
        self._engine: LocalEngine | None = None
        self._lock = Lock()
        self._sampling = Sampling(answer_tokens(settings) or _ANSWER_TOKENS, settings.llm_temperature or 0.0)
        self._keeps = settings.local_state_mb > 0
        self.states = KeptStates(settings.local_state_mb * _MEGABYTE, self._forget)  #: of the latest conversations

    @classmethod
    def named(cls, settings: Settings) -> LocalChat:
        """The model of the settings. Raises InvalidInput if it is not there, and MissingExtra."""
        files = ModelFiles.named(settings.llm_model or LOCAL)
        return cls(lambda: opened(files, settings), settings, runtime_of(files, settings))

    def check_rounding(self) -> None:
        """Raise InvalidInput if the runtime has no smaller states; nothing is loaded."""
        if self._runtime is LocalRuntime.LLAMACPP:
            raise not_rounded()

    @property
    def engine(self) -> LocalEngine:
        """The engine. Raises ModelError if it cannot be loaded."""
        with self._lock:
            if self._engine is None:
                self._engine = self._load()
            return self._engine

    @property
    def loaded(self) -> LocalEngine | None:
        """The engine; None until the first question loads it."""
        return self._engine

    def answer(self, messages: Sequence[Message], state: KVState | None = None, adapters: Adapters = ()) -> Answer:
        """Return the whole answer, with that state of its beginning. Raises ModelError, PromptTooLong."""
        told = self.ask(messages, state, adapters)
        text = without_reasoning(storable("".join(told)))
        if not text:
            raise ModelError(EMPTY, is_of_prompt=True)
        usage = Usage(told.prompt_tokens, told.completion_tokens, told.cached_tokens)
        return Answer(text, usage, f"{LOCAL}{self.engine.name}")

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the answer in pieces. Raises ModelError, PromptTooLong."""
        told = self.ask(messages)
        return visible(told, told.stop, lambda: told.cached_tokens)

    def ask(self, messages: Sequence[Message], state: KVState | None = None, adapters: Adapters = ()) -> Generation:
        """Begin an answer with this state, or with that of the conversation, which is kept after it."""
        epoch = self.states.epoch
        engine = self.engine
        tokens = engine.chat_tokens(messages)
        if state is not None or not self._keeps:
            return engine.generate(tokens, state, adapters=adapters, sampling=self._sampling)
        return self._going_on(engine, tokens, adapters, epoch)

    def _going_on(self, engine: LocalEngine, tokens: list[int], adapters: Adapters, epoch: int) -> Generation:
        user = asker()
        key, state = self.states.nearest(tokens, user, adapters) or (None, None)
        if key is None or not _goes_on(tokens, state):
            key = str(uuid7())
        told = engine.generate(tokens, state, adapters=adapters, sampling=self._sampling)
        return RememberedGeneration(told, lambda kept: self.states.keep(key, kept, epoch, user))

    def watermarked(self, key: bytes) -> LocalChat:
        """This chat, with the watermark of that key in its words. Raises ModelError if its runtime has none."""
        if not self.engine.has_watermark:
            raise ModelError(NO_WATERMARK)
        marked = copy(self)
        marked._sampling = replace(self._sampling, watermark=key)
        return marked

    def reach(self) -> None:
        """Load the model."""
        _ = self.engine

    def close(self) -> None:
        """Let the states and the engine go."""
        self.states.clear()
        with self._lock:
            self._engine = None

    def forget(self) -> None:
        """Let the states of all conversations go."""
        self.states.clear()

    def _forget(self) -> None:
        """Let the engine forget its last prompt, if there is one."""
        if (engine := self._engine) is not None:
            engine.forget()


@dataclass(frozen=True, slots=True)
class StatedChat:
    """A local chat that answers prompts with one beginning, whose state is known; without one as the chat does."""

    chat: LocalChat
    state: KVState | None

    def answer(self, messages: Sequence[Message]) -> Answer:
        """Return the whole answer. Raises ModelError, PromptTooLong."""
        return self.chat.answer(messages, self.state)

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the answer in pieces. Raises ModelError, PromptTooLong."""
        told = self.chat.ask(messages, self.state)
        return visible(told, told.stop, lambda: told.cached_tokens)


def _goes_on(tokens: Sequence[int], state: KVState | None) -> bool:
    """Whether the prompt goes on with a conversation, and does not only begin with the same instructions."""
    return state is not None and 2 * shared(tokens, state, state.adapters) >= len(state.tokens)


class RememberedGeneration(Iterator[str]):
    """An answer whose state is kept when it has ended, if it can be."""

    def __init__(self, told: Generation, keep: Callable[[KVState], None]) -> None:
        self._told, self._keep = told, keep

    def __next__(self) -> str:
        try:
            return next(self._told)
        except StopIteration:
            self._end()
            raise

    def stop(self) -> None:
        """End the answer."""
        self._told.stop()

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt."""
        return self._told.prompt_tokens

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that a state spared."""
        return self._told.cached_tokens

    @property
    def completion_tokens(self) -> int:
        """Tokens of the answer so far."""
        return self._told.completion_tokens

    @property
    def state(self) -> KVState | None:
        """The state after the answer."""
        return self._told.state

    def _end(self) -> None:
        with suppress(MemoryOSError):  # the answer is whole; the next one takes longer
            if (state := self.state) is not None:
                self._keep(state)
