"""Chat models: any OpenAI-compatible server, through the official SDK.

An answer is text or an error; an error is never text. Reasoning blocks are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

from memoryos.config import Settings
from memoryos.errors import InvalidInput, MissingExtra, ModelError, ModelNotConfigured

if TYPE_CHECKING:
    from openai import OpenAI, Stream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk

OPENAI_URL = "https://api.openai.com/v1"
SECRET_CHARS = 8  # a shorter key is a placeholder for a local server, such as "none"

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

    def __init__(self, settings: Settings) -> None:
        if not settings.llm_model:
            raise ModelNotConfigured
        self._key = _key(settings)
        self._client = _client(settings, self._key)
        self._options: dict[str, Any] = {"model": settings.llm_model}
        if settings.llm_temperature is not None:
            self._options["temperature"] = settings.llm_temperature
        if settings.llm_max_tokens is not None:
            self._options["max_tokens"] = settings.llm_max_tokens

    def answer(self, messages: Sequence[Message]) -> Answer:
        """The whole answer. Raises ModelError when there is none."""
        with _mapped_errors(self._key):
            completion: ChatCompletion = self._client.chat.completions.create(**self._request(messages))
            text = without_reasoning("".join(choice.message.content or "" for choice in completion.choices[:1]))
            answer = Answer(text, _usage(completion.usage), completion.model)
        if not answer.text:
            raise ModelError("the chat model sent an empty answer; nothing was stored")
        return answer

    def stream(self, messages: Sequence[Message]) -> Iterator[str]:
        """The answer in pieces, as they arrive. Raises ModelError, also after some pieces."""
        with _mapped_errors(self._key):
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


def _key(settings: Settings) -> str:
    """The API key; what could not be sent is refused here, because the SDK's error would quote it."""
    if settings.llm_api_key is None and not settings.llm_base_url:
        raise ModelNotConfigured
    key = settings.llm_api_key.get_secret_value().strip() if settings.llm_api_key else "none"
    if not key.isascii() or not key.isprintable():
        raise InvalidInput("llm_api_key", "holds characters that no key has", "Copy it again from your provider")
    return key


def _client(settings: Settings, key: str) -> OpenAI:
    try:
        from openai import OpenAI
    except ImportError:
        raise MissingExtra("The chat model", "llm") from None
    # Key and URL are always given: left out, the SDK would read the environment behind our settings.
    return OpenAI(
        api_key=key,
        base_url=settings.llm_base_url or OPENAI_URL,
        timeout=settings.llm_timeout_seconds,
        max_retries=settings.llm_retries,
    )


@contextmanager
def _mapped_errors(key: str) -> Iterator[None]:
    from openai import OpenAIError

    try:
        yield
    except (OpenAIError, ValueError, AttributeError, TypeError) as error:
        # The SDK does not check what it gets: a body that is no JSON, or of another shape, shows only when it is used.
        problem = f"{type(error).__name__}: {error}"
        if error.__cause__:
            problem += f" {error.__cause__}"
        if len(key) >= SECRET_CHARS:
            problem = problem.replace(key, "***")  # servers quote a key that they refuse
        raise ModelError(f"the chat model failed ({problem}); nothing was stored") from None


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, getattr(details, "cached_tokens", 0) or 0)
