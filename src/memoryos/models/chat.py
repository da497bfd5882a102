"""Chat models: any OpenAI-compatible server, through the official SDK.

A model returns text or raises an error; it never returns an error as text. Reasoning blocks are removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol, TypedDict, TypeVar, runtime_checkable

from pydantic import BaseModel, Field, ValidationError

from memoryos.config import Settings
from memoryos.errors import ModelError, ModelNotConfigured
from memoryos.models.endpoint import DONE, OPENAI_URL, Endpoint, checked_key
from memoryos.models.shapes import described, storable
from memoryos.plain import Plain
from memoryos.regex import regex
from memoryos.signing import ContentMark

ANSWER_TOKENS = 2_048  # the longest answer, where a budget needs a bound and none is set
MOST_TOKENS = 10_000_000  # that a server may say it counted: no model reads or writes more
MOST_CHOICES = 128  # in an answer, of which the first is read

_PATH = "/chat/completions"
_OPEN, _CLOSE = "<think>", "</think>"
_REASONING = regex(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class Message(TypedDict):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]  #: whose message it is
    content: str  #: its text


@dataclass(frozen=True, slots=True)
class Usage(Plain):
    """The tokens of an answer as the server counted them; 0 if it did not report them."""

    prompt_tokens: int = 0  #: tokens that the model read
    completion_tokens: int = 0  #: tokens that it wrote
    cached_tokens: int = 0  #: tokens of the prompt that the server had already


@dataclass(frozen=True, slots=True)
class Answer(Plain):
    """The answer of a model."""

    text: str  #: the words of the model, without its reasoning
    usage: Usage  #: tokens of the prompt and the answer
    model: str  #: name of the model, as the server tells it
    mark: ContentMark | None = None  #: signed provenance of the text; None before the store signs it
    adapters: tuple[str, ...] = ()  #: names of the adapters that took part, with the setting `answer_adapters`
    adapters_left_out: tuple[str, ...] = ()  #: loaded adapters that did not, each with the reason


class _ReplyMessage(BaseModel):
    content: str | None = None


class _Choice(BaseModel):
    message: _ReplyMessage
    finish_reason: str | None = None


class _Completion(BaseModel):
    model: Annotated[str, Field(min_length=1, max_length=256)]
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=MOST_CHOICES)]
    usage: Any = None


class _ChunkChoice(BaseModel):
    delta: _ReplyMessage = _ReplyMessage()
    finish_reason: str | None = None


class _Chunk(BaseModel):
    choices: Annotated[list[_ChunkChoice], Field(max_length=MOST_CHOICES)] = []
    usage: Any = None


_Shape = TypeVar("_Shape", bound=BaseModel)

_FAILED = "error"  # a finish reason
_HAS_FAILED = "the chat model failed in the middle of its answer; nothing was stored"
EMPTY = "the chat model sent an empty answer; nothing was stored"  #: an error


class ChatModel(Protocol):
    """A chat model: it answers a prompt."""

    def answer(self, messages: Sequence[Message]) -> Answer:
        """Return the whole answer. Raises ModelError if there is none."""
        ...

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the answer in pieces as they arrive. Raises ModelError, possibly after some pieces."""
        ...


@runtime_checkable
class Stoppable(Protocol):
    """Pieces that their reader may stop from another thread, even while the model is silent."""

    def stop(self) -> None:
        """Stop the stream."""
        ...


@runtime_checkable
class Counting(Protocol):
    """Pieces that know how much of the prompt the model had already."""

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that the model had already, as far as it has told; 0 until then."""
        ...


class _Spoken(Iterator[str]):
    """The output of a model, in pieces."""

    def __init__(self, pieces: Iterator[str], stop: Callable[[], None], cached: Callable[[], int]) -> None:
        self._pieces = pieces
        self.stop = stop
        self._cached = cached

    @property
    def cached_tokens(self) -> int:
        """Tokens of the prompt that the model had already."""
        return self._cached()

    def __next__(self) -> str:
        return next(self._pieces)


class OpenAIChat:
    """A chat model behind the OpenAI API or a compatible one."""

    def __init__(self, settings: Settings, *, quoting: bool = True, json_mode: bool = False) -> None:
        """Connect to the model of the settings.

        Without `quoting`, errors do not repeat what the server said. `json_mode` asks the server for JSON only.
        """
        if not settings.llm_model:
            raise ModelNotConfigured
        self._connection = _endpoint(settings).connect()
        self._quoting = quoting
        self._most_chars = settings.max_text_chars
        self._options: dict[str, Any] = {"model": settings.llm_model}
        if settings.llm_temperature is not None:
            self._options["temperature"] = settings.llm_temperature
        if (limit := answer_tokens(settings)) is not None:
            self._options["max_tokens"] = limit
        if json_mode:
            self._options["response_format"] = {"type": "json_object"}

    def answer(self, messages: Sequence[Message]) -> Answer:
        """Return the whole answer. Raises ModelError if there is none."""
        completion = _read(self._connection.ask(_PATH, self._request(messages), quoting=self._quoting), _Completion)
        if completion.choices[0].finish_reason == _FAILED:
            raise ModelError(_HAS_FAILED)
        text = without_reasoning(storable(completion.choices[0].message.content or ""))
        if not text:
            raise ModelError(EMPTY, is_of_prompt=True)
        self._check_length(len(text))
        return Answer(text, _usage(completion.usage), storable(completion.model))

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """Yield the answer in pieces as they arrive, at the reader's pace. Raises ModelError, possibly after some."""
        events = self._connection.stream(_PATH, {**self._request(messages), "stream": True})
        told = _Pieces(events)
        return _Spoken(self._bounded(_visible(_whole_characters(iter(told)))), events.stop, lambda: told.cached_tokens)

    def reach(self) -> None:
        """Check that the server answers; nothing is asked of the model. Raises ModelError."""
        self._connection.reach()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def _request(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {**self._options, "messages": list(messages)}

    def _bounded(self, pieces: Iterator[str]) -> Iterator[str]:
        chars = 0
        for piece in pieces:
            chars += len(piece)
            self._check_length(chars)
            yield piece

    def _check_length(self, chars: int) -> None:
        if chars > self._most_chars:
            raise ModelError(too_long(self._most_chars), is_of_prompt=True)


def too_long(limit: int) -> str:
    """The error about an answer of more characters."""
    return f"the chat model sent an answer of more than max_text_chars ({limit:,}); nothing was stored"


def answer_tokens(settings: Settings) -> int | None:
    """The maximum number of tokens to request for an answer; with a budget there is always a limit."""
    has_budget = settings.llm_tokens_per_day is not None or settings.llm_cost_per_day is not None
    return settings.llm_max_tokens or (ANSWER_TOKENS if has_budget else None)


def without_reasoning(text: str) -> str:
    """Remove `<think>` blocks from a text; an unclosed one extends to the end."""
    return _REASONING.sub("", text).strip()


def visible(pieces: Iterator[str], stop: Callable[[], None], cached: Callable[[], int]) -> Iterator[str]:
    """The output of a model without its reasoning; `stop` ends it, and `cached` counts what it had of the prompt."""
    return _Spoken(_visible(_whole_characters(pieces)), stop, cached)


class _Pieces:
    """The text of a stream's events, and what the server tells of its cache: some do, in the last event."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self.cached_tokens = 0

    def __iter__(self) -> Iterator[str]:
        """Yield the text. Raises ModelError if the stream ends early."""
        is_whole = False
        for event in self._events:
            if event == DONE:
                is_whole = True
                continue
            chunk = _read(event, _Chunk)
            self.cached_tokens = _usage(chunk.usage).cached_tokens or self.cached_tokens
            for choice in chunk.choices[:1]:
                if choice.finish_reason == _FAILED:
                    raise ModelError(_HAS_FAILED)
                is_whole = is_whole or bool(choice.finish_reason)
                yield choice.delta.content or ""
        if not is_whole:
            raise ModelError("the chat model's answer ended early; nothing was stored")


def _whole_characters(pieces: Iterator[str]) -> Iterator[str]:
    """Make the pieces storable: the first half of a character waits for the second."""
    held = ""
    for piece in pieces:
        text = held + piece
        held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        yield storable(text.removesuffix(held))
    yield storable(held)


def _visible(pieces: Iterator[str]) -> Iterator[str]:
    """Remove reasoning and leading blanks from the pieces."""
    has_begun = False
    for piece in _outside(pieces):
        shown = piece if has_begun else piece.lstrip()
        if shown:
            has_begun = True
            yield shown


def _outside(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the text outside reasoning blocks; the possible start of a tag waits for the next piece."""
    rest, tag = "", _OPEN
    for piece in pieces:
        rest += piece
        while tag in rest:
            before, _, rest = rest.partition(tag)
            if tag == _OPEN:
                yield before
            tag = _CLOSE if tag == _OPEN else _OPEN
        settled = len(rest) - _begun(rest, tag)
        if tag == _OPEN:
            yield rest[:settled]
        rest = rest[settled:]
    if tag == _OPEN:
        yield rest


def _begun(text: str, tag: str) -> int:
    """The number of characters at the end of the text that may be the start of the tag."""
    longest = min(len(tag) - 1, len(text))
    return next((length for length in range(longest, 0, -1) if text.endswith(tag[:length])), 0)


def _read(sent: Any, shape: type[_Shape]) -> _Shape:
    try:
        return shape.model_validate(sent)
    except ValidationError as error:
        problem = f"a reply that is not in the form of the OpenAI API ({described(error)})"
        raise ModelError(f"the chat model sent {problem}; nothing was stored") from None


def _endpoint(settings: Settings) -> Endpoint:
    if settings.llm_api_key is None and not settings.llm_base_url:
        raise ModelNotConfigured
    return Endpoint(
        what="chat model",
        url=settings.llm_base_url or OPENAI_URL,
        key=checked_key("llm_api_key", settings.llm_api_key),
        timeout_seconds=settings.llm_timeout_seconds,
        retries=settings.llm_retries,
    )


def _usage(sent: Any) -> Usage:
    """A count of tokens from the server; 0 if it is not a number."""
    counts = sent if isinstance(sent, dict) else {}
    details = counts.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Usage(_count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")), _count(cached))


def _count(sent: Any) -> int:
    return sent if type(sent) is int and 0 <= sent <= MOST_TOKENS else 0
