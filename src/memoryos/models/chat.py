"""Chat models: any OpenAI-compatible server, through the official SDK.

An answer is text or an error; an error is never text. Reasoning blocks are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from memoryos.config import Settings
from memoryos.errors import ModelError, ModelNotConfigured
from memoryos.models.endpoint import OPENAI_URL, Endpoint, checked_key

if TYPE_CHECKING:
    from openai import Stream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

ANSWER_TOKENS = 2_048  # the longest answer, where a budget needs a bound and none is set

_REASONING = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)


class Message(TypedDict):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost, in tokens as the server counted them; 0 when it did not say."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer."""

    text: str
    usage: Usage
    model: str


class ChatModel(Protocol):
    """Answers a prompt."""

    def answer(self, messages: Sequence[Message]) -> Answer:
        """The whole answer. Raises ModelError when there is none."""
        ...

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """The answer in pieces, as they arrive. Raises ModelError, also after some pieces."""
        ...


class OpenAIChat:
    """A chat model behind the OpenAI API, or behind one that speaks the same."""

    def __init__(self, settings: Settings, *, quoting: bool = True, json_mode: bool = False) -> None:
        """Connect to the model of the settings.

        Without `quoting` no error repeats what the server said; `json_mode` asks it for nothing but JSON.
        """
        if not settings.llm_model:
            raise ModelNotConfigured
        self._endpoint = _endpoint(settings)
        self._client = self._endpoint.connect()
        self._quoting = quoting
        self._options: dict[str, Any] = {"model": settings.llm_model}
        if settings.llm_temperature is not None:
            self._options["temperature"] = settings.llm_temperature
        if (limit := answer_tokens(settings)) is not None:
            self._options["max_tokens"] = limit
        if json_mode:
            self._options["response_format"] = {"type": "json_object"}

    def answer(self, messages: Sequence[Message]) -> Answer:
        """The whole answer. Raises ModelError when there is none."""
        with self._endpoint.mapped_errors(quoting=self._quoting):
            completion: ChatCompletion = self._client.chat.completions.create(**self._request(messages))
            text = without_reasoning("".join(choice.message.content or "" for choice in completion.choices[:1]))
            answer = Answer(text, _usage(completion.usage), completion.model)
        if not answer.text:
            raise ModelError("the chat model sent an empty answer; nothing was stored")
        return answer

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """The answer in pieces, as they arrive. Raises ModelError, also after some pieces."""
        with self._endpoint.mapped_errors():
            chunks: Stream[ChatCompletionChunk] = self._client.chat.completions.create(
                **self._request(messages), stream=True
            )
            pieces = (chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
            yield from _visible(pieces)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {**self._options, "messages": list(messages)}


def answer_tokens(settings: Settings) -> int | None:
    """The longest answer that is asked for, in tokens; with a budget there must be one."""
    has_budget = settings.llm_tokens_per_day is not None or settings.llm_cost_per_day is not None
    return settings.llm_max_tokens or (ANSWER_TOKENS if has_budget else None)


def without_reasoning(text: str) -> str:
    """The text without `<think>` blocks; an unclosed one reaches to the end."""
    return _REASONING.sub("", text).strip()


def _visible(pieces: Iterator[str]) -> Iterator[str]:
    """The pieces without reasoning; what could be the start of a tag is held back until it is known."""
    seen, sent = "", 0
    for piece in pieces:
        seen += piece
        shown = _settled(seen)
        if len(shown) > sent:
            yield shown[sent:]
            sent = len(shown)
    rest = _REASONING.sub("", seen).lstrip()[sent:]
    if rest:
        yield rest


def _settled(text: str) -> str:
    """What of the text so far will surely be shown."""
    visible = _REASONING.sub("", text).lstrip()
    for length in range(min(len("<think>") - 1, len(visible)), 0, -1):
        if "<think>".startswith(visible[-length:]):
            return visible[:-length]
    return visible


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


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, getattr(details, "cached_tokens", 0) or 0)
