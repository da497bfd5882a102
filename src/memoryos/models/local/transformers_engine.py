"""TransformersEngine: a model that transformers computes, on the CPU or on a GPU."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any, cast

import numpy as np
import torch
import transformers
from huggingface_hub.errors import StrictDataclassError
from jinja2 import TemplateError
from numpy.typing import NDArray
from safetensors import SafetensorError
from transformers.cache_utils import Cache

from memoryos.errors import InvalidInput, MemoryOSError, ModelError, PromptTooLong, StateMismatch, StoreCorrupt
from memoryos.models.chat import Message
from memoryos.models.local.chat_template import chat_tokens
from memoryos.models.local.fingerprint import Fingerprint, files_digest
from memoryos.models.local.local_engine import GREEDY, KVState, Sampling, shared
from memoryos.models.local.lora_layers import LoraLayers, sharing
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.moved_keys import append_block, frequencies, is_moved
from memoryos.models.local.quiet import quiet
from memoryos.models.local.runtime_fault import fault, first_line
from memoryos.models.local.spelling import Spelling
from memoryos.models.local.split_attention import split_attention
from memoryos.models.local.state_file import StateFile
from memoryos.models.local.torch_state import TorchState, empty_cache, layers_of, pieces, state_of
from memoryos.models.local.unpacked_gguf import unpacked
from memoryos.models.local.watermark import KeyedWatermark, evidence_in
from memoryos.models.local.watermark_evidence import WatermarkEvidence
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter

RUNTIME = "transformers"
# What transformers raises for damaged files, besides OSError and RuntimeError:
_DAMAGED = (
    SafetensorError,
    StrictDataclassError,
    struct.error,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ImportError,
)
_AT_ONCE = 512  # tokens of a prompt that are computed together


class TransformersEngine:
    """A model of Hugging Face transformers."""

    has_watermark = True
    is_composing = True

    def __init__(self, model: Any, tokenizer: Any, *, name: str, digest: str, window: int = 2**31) -> None:
        """Compute with this model, whose files have that sha256; `opened` loads both."""
        self.model, self.tokenizer, self.name = model.eval(), tokenizer, name
        self._lock, self._lora = Lock(), LoraLayers(model)
        config = model.config
        self.window = min(int(config.max_position_embeddings), window)
        self._layers, self.vocabulary = int(config.num_hidden_layers), int(config.vocab_size)
        self.has_states = set(getattr(config, "layer_types", None) or ["full_attention"]) == {"full_attention"}
        if self.has_states:
            split_attention(model)
        self._ends = _ends(model, tokenizer)
        self._cache_name = _cache_name(model)
        self._turns: torch.Tensor | None = None  # of its positions, once that was tried
        self.fingerprint = Fingerprint(
            digest,
            _tokenizer_digest(tokenizer),
            str(model.dtype).removeprefix("torch."),
            str(getattr(config, "rope_parameters", None) or getattr(config, "rope_theta", "none")),
            RUNTIME,
            transformers.__version__,
        )

    @classmethod
    def opened(
        cls,
        files: ModelFiles,
        *,
        cache: Path,
        device: str | None = None,
        window: int = 2**31,
        threads: int | None = None,
    ) -> TransformersEngine:
        """Load a model; `device` is cuda or cpu, by default what is there. A GGUF file is unpacked into `cache`.

        Raises ModelError.
        """
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        dtype: Any = torch.float32 if device == "cpu" else "auto"
        if threads is not None:
            torch.set_num_threads(threads)
        with _mapped_errors(), _opening(files), quiet():
            digest = files_digest(*files.weights)
            folder = unpacked(files, cache) if files.is_gguf else files.path
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, use_safetensors=True)
            return cls(cast("Any", model).to(device), tokenizer, name=files.name, digest=digest, window=window)

    # Text

    def tokenise(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return self._tokens(text, False)

    def chat_tokens(self, messages: Sequence[Message], *, answers: bool = True) -> list[int]:
        """Return messages as tokens."""

        def fill(marked: list[Message]) -> str:
            if self.tokenizer.chat_template is None:
                raise ModelError(f"the model {self.name} has no chat template: it completes texts and answers nothing")
            try:
                return str(self.tokenizer.apply_chat_template(marked, tokenize=False, add_generation_prompt=answers))
            except TemplateError as error:
                raise ModelError(f"the chat template of {self.name} refuses the messages: {error}") from error

        return chat_tokens(messages, fill, self._tokens)

    def _tokens(self, text: str, counts_control: bool) -> list[int]:
        made = self.tokenizer(text, add_special_tokens=False, split_special_tokens=not counts_control)
        return list(made["input_ids"])

    def check_adapter(self, adapter: WeightedAdapter) -> None:
        """Raise ModelError unless answers can have this adapter."""
        with self._computing():
            self._lora.check(adapter)

    def trainable(self) -> Any:
        """Return a copy of the layers around the same weights, without the adapters of an answer that is being made."""
        with self._computing():
            return sharing(self.model)

    # States

    def prefill(self, tokens: Sequence[int], after: KVState | None = None, *, adapters: Adapters = ()) -> TorchState:
        """Compute the state of these tokens."""
        if not self.has_states:
            raise ModelError(f"the model {self.name} does not attend to all tokens in each layer: it has no KV states")
        with self._computing():
            cache, _ = self._fed(tokens, after, adapters, 0)
            return state_of(cache, tokens, adapters)

    def compose(self, blocks: Sequence[KVState], *, recompute: int = 0, skipped: Sequence[int] = ()) -> TorchState:
        """Put states together in this order, with their keys at new positions. Raises ModelError."""
        parts = [_own(one) for one in blocks]
        if not parts or len({one.adapters for one in parts}) > 1:
            raise InvalidInput("blocks", "are none, or of several adapters", "Pass states with the same adapters")
        placed = list(zip(parts, skipped or [0] * len(parts), strict=True))
        tokens = [token for one, before in placed for token in one.tokens[before:]]
        if len(tokens) > self.window:
            raise PromptTooLong(len(tokens), self.window)
        with self._computing():
            turns = self._checked_turns(parts)
            cache = parts[0].cache(len(parts[0].tokens), len(tokens))
            for one, before in placed[1:]:
                by, done = cache.get_seq_length() - before, min(before + recompute, len(one.tokens))
                if done > before:
                    self.step(one.tokens[before:done], cache, one.adapters)
                append_block(cache, one.layers, done, by, turns)
            return state_of(cache, tokens, parts[0].adapters)

    def _checked_turns(self, parts: Sequence[TorchState]) -> torch.Tensor:
        """How the keys turn, after one was moved for a trial: the first layer reads nothing but its token."""
        turns = self._turns
        if turns is None and len(parts) > 1:
            turns, (first, second) = frequencies(self.model), parts[:2]
            cache, trial = first.cache(1, 1), second.tokens[:1]
            self.step(trial, cache, first.adapters)
            if turns is None or not is_moved(
                second.layers[0][0][..., :1, :], 1, turns, cache.layers[0].keys[..., 1:, :]
            ):
                raise ModelError(f"the keys of {self.name} cannot be moved: its positions are of another kind")
            self._turns = turns
        return torch.empty(0) if turns is None else turns

    def distribution(
        self, tokens: Sequence[int], state: KVState | None = None, *, adapters: Adapters = ()
    ) -> NDArray[np.float32]:
        """Return the logarithm of the probability of each next token."""
        with self._computing():
            _, logits = self._fed(tokens, state, adapters, 0)
            return cast("NDArray[np.float32]", torch.log_softmax(logits.float(), dim=-1).cpu().numpy())

    def evidence(self, text: str, watermark: bytes) -> WatermarkEvidence:
        """Return what the words of a text tell about the watermark of that key."""
        return evidence_in(self.tokenise(text), watermark, self.vocabulary, self.name)

    def dumped(self, state: KVState, *, bits: int | None = None) -> bytes:
        """Return a state as bytes."""
        if bits not in (None, 8):
            raise InvalidInput("bits", f"{bits!r} is not possible", "Pass 8, or None for exact states")
        known = _own(state)
        return StateFile(self.fingerprint, known.tokens, known.adapters, known.tensors(bits), bits).to_bytes()

    def loaded(self, data: bytes | memoryview) -> TorchState:
        """Read a state. Raises StateMismatch, StoreCorrupt, ModelError without memory for it."""
        file = StateFile.of(data)
        file.check(self.fingerprint)
        try:
            with _mapped_errors():
                layers = layers_of(file.tensors, file.bits, self.model.dtype, self.model.device)
        except (KeyError, ValueError) as error:
            raise StoreCorrupt(f"the KV state is damaged: {error}; it is built again from its sources") from None
        if len(layers) != self._layers:
            raise StateMismatch(f"the KV state has {len(layers)} layers, and the model {self._layers}")
        return TorchState(file.tokens, layers, file.adapters)

    # Answers

    def generate(
        self,
        tokens: Sequence[int],
        state: KVState | None = None,
        *,
        adapters: Adapters = (),
        sampling: Sampling = GREEDY,
    ) -> TorchGeneration:
        """Answer a prompt. Raises PromptTooLong."""
        if len(tokens) >= self.window:
            raise PromptTooLong(len(tokens), self.window)
        return TorchGeneration(self, tokens, state if self.has_states else None, adapters, sampling)

    def step(self, tokens: Sequence[int], cache: Cache, adapters: Adapters) -> torch.Tensor:
        """Append tokens to a cache, and return the logits of the next one."""
        ids = torch.tensor([list(tokens)], device=self.model.device)
        with torch.inference_mode(), self._weights(adapters):
            output = self.model(input_ids=ids, **{self._cache_name: cache}, use_cache=True, logits_to_keep=1)
        return cast("torch.Tensor", output.logits[0, -1])

    def begin(
        self, tokens: Sequence[int], state: KVState | None, adapters: Adapters, more: int
    ) -> tuple[Cache, torch.Tensor]:
        """Feed a prompt; return the cache, and the logits of the next token. Raises ModelError."""
        with self._computing():
            return self._fed(tokens, state, adapters, more)

    def next_logits(self, token: int, cache: Cache, adapters: Adapters) -> torch.Tensor:
        """Feed one token of an answer. Raises ModelError."""
        with self._computing():
            return self.step([token], cache, adapters)

    def ends_with(self, token: int) -> bool:
        """Whether the answer ends with this token."""
        return token in self._ends

    def decoded(self, tokens: Sequence[int]) -> str:
        """Return tokens as text, without control tokens."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def forget(self) -> None:
        """Do nothing: what an answer was computed from goes with its generation."""

    def close(self) -> None:
        """Let the model go."""
        self.model = None

    def _fed(
        self, tokens: Sequence[int], state: KVState | None, adapters: Adapters, more: int
    ) -> tuple[Cache, torch.Tensor]:
        if not tokens:
            raise InvalidInput("tokens", "is empty", "Pass a prompt of one token or more")
        if len(tokens) > self.window:
            raise PromptTooLong(len(tokens), self.window)
        count = shared(tokens, state, adapters)
        room = len(tokens) - count + more
        cache = _own(state).cache(count, room) if state is not None and count else empty_cache(self._layers, room)
        for part in pieces(tokens[count:], _AT_ONCE):
            logits = self.step(part, cache, adapters)
        return cache, logits

    @contextmanager
    def _weights(self, adapters: Adapters) -> Iterator[None]:
        """Compute with these adapters in the block."""
        with self._lora.added(adapters):
            yield

    @contextmanager
    def _computing(self) -> Iterator[None]:
        with self._lock, _mapped_errors():
            if self.model is None:
                raise ModelError(f"the model {self.name} was closed")
            yield


class TorchGeneration(Iterator[str]):
    """An answer, piece by piece; the prompt is computed for the first one."""

    def __init__(
        self,
        engine: TransformersEngine,
        tokens: Sequence[int],
        state: KVState | None,
        adapters: Adapters,
        sampling: Sampling,
    ) -> None:
        self._engine, self._adapters, self._sampling = engine, adapters, sampling
        self._spelling = Spelling(engine.decoded, sampling.stop)
        self._tokens = list(tokens)
        self._cache: Cache | None = None
        self._is_stopped = False
        self.prompt_tokens = len(tokens)
        self.cached_tokens = shared(tokens, state, adapters)
        self.completion_tokens = 0
        self._pieces = self._made(state)

    def __next__(self) -> str:
        return next(self._pieces)

    def stop(self) -> None:
        """End the answer after the token that is being computed."""
        self._is_stopped = True

    @property
    def state(self) -> TorchState | None:
        """The state of the prompt and of the answer; its last token is not computed yet."""
        if self._cache is None or not self._engine.has_states:
            return None
        return state_of(self._cache, self._tokens[: self._cache.get_seq_length()], self._adapters)

    def _made(self, state: KVState | None) -> Iterator[str]:
        limit = min(self._sampling.limit, self._engine.window - len(self._tokens))
        generator, mark = _generator(self._sampling), _mark(self._sampling, self._engine.vocabulary)
        self._cache, logits = self._engine.begin(self._tokens, state, self._adapters, limit)
        while not self._is_stopped:
            if mark is not None:
                logits = mark.favoured(self._tokens[-1], logits)
            token = _chosen(logits, self._sampling.temperature, generator)
            if self._engine.ends_with(token):
                break
            self._tokens.append(token)
            self.completion_tokens += 1
            if piece := self._spelling.take(token):
                yield piece
            if self._spelling.is_over or self.completion_tokens >= limit:
                break
            logits = self._engine.next_logits(token, self._cache, self._adapters)
        if rest := self._spelling.rest():
            yield rest


def _generator(sampling: Sampling) -> torch.Generator | None:
    return None if sampling.seed is None else torch.Generator().manual_seed(sampling.seed)


def _mark(sampling: Sampling, vocabulary: int) -> KeyedWatermark | None:
    return None if sampling.watermark is None else KeyedWatermark(sampling.watermark, vocabulary)


def _chosen(logits: torch.Tensor, temperature: float, generator: torch.Generator | None) -> int:
    if temperature <= 0:
        return int(logits.argmax())
    chances = torch.softmax(logits.float().cpu() / temperature, dim=-1)
    return int(torch.multinomial(chances, 1, generator=generator))


def _own(state: KVState) -> TorchState:
    if not isinstance(state, TorchState):
        raise StateMismatch("the KV state is of another runtime than transformers")
    return state


def _cache_name(model: Any) -> str:
    """How the forward pass calls its cache: later versions of transformers have another name."""
    return "cache" if "cache" in signature(model.forward).parameters else "past_key_values"


def _ends(model: Any, tokenizer: Any) -> frozenset[int]:
    """The tokens that end an answer."""
    told = getattr(model.generation_config, "eos_token_id", None)
    ids = told if isinstance(told, list) else [told]
    return frozenset(one for one in (*ids, tokenizer.eos_token_id) if one is not None)


def _tokenizer_digest(tokenizer: Any) -> str:
    vocabulary = sorted(tokenizer.get_vocab().items())
    return sha256(repr((vocabulary, tokenizer.chat_template)).encode()).hexdigest()


@contextmanager
def _mapped_errors() -> Iterator[None]:
    """Raise ModelError for what goes wrong inside the runtime."""
    try:
        yield
    except OSError as error:
        raise ModelError(f"the files of the local model cannot be read: {first_line(error)}") from error
    except (RuntimeError, MemoryError) as error:  # torch.OutOfMemoryError is a RuntimeError
        raise ModelError(f"the local model {fault(error)}") from error


@contextmanager
def _opening(files: ModelFiles) -> Iterator[None]:
    """Raise ModelError for files that are no model."""
    try:
        yield
    except MemoryOSError:
        raise
    except _DAMAGED as error:
        raise ModelError(f"the local model {files.path} cannot be loaded: {first_line(error)}") from error
