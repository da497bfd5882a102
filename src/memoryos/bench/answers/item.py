"""Items: a question with a system's context, and the reader's answer."""

from __future__ import annotations

from dataclasses import dataclass

from memoryos.bench.answers.question import ReaderQuestion
from memoryos.models.chat import Message
from memoryos.models.tokenizer import count_tokens


@dataclass(frozen=True, slots=True)
class Item:
    """One question through one system."""

    system: str
    asked: ReaderQuestion
    context: str | None  #: None: it is not known, the answer came from elsewhere
    prompt: tuple[Message, ...] = ()
    context_ms: float | None = None  #: what it took to find the context

    @property
    def context_tokens(self) -> int | None:
        """The tokens of the context."""
        return None if self.context is None else count_tokens(self.context)

    @property
    def prompt_tokens(self) -> int | None:
        """The tokens of the whole prompt, as this program counts them."""
        return sum(count_tokens(message["content"]) for message in self.prompt) if self.prompt else None


@dataclass(frozen=True, slots=True)
class Answered:
    """An item with the reader's answer."""

    item: Item
    answer: str
    answer_tokens: int
    answer_ms: float | None = None  #: None: the answer came from elsewhere
