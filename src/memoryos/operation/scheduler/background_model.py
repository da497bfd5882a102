"""BackgroundModel: the chat model as jobs ask it, connected when one first does; what it costs is written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memoryos.cached_property import cached_property
from memoryos.models.chat import Answer, ChatModel, Message
from memoryos.operation.scheduler.spending import ModelAccount, Purpose
from memoryos.scope import Scope


@dataclass(frozen=True)
class BackgroundModel:
    """The chat model of one store, for jobs."""

    account: ModelAccount
    connected: Callable[[], ChatModel]  #: raises ModelNotConfigured

    @cached_property
    def chat(self) -> ChatModel:
        """The model. Raises ModelNotConfigured; for a local one MissingExtra and InvalidInput."""
        return self.connected()

    def asks(self, messages: Sequence[Message], scope: Scope) -> Answer:
        """Have it write questions at the cost of this scope. Raises ModelError."""
        return self.account.answer(self.chat, messages, scope, Purpose.QUESTIONS)
