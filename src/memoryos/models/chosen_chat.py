"""Chosen chat: the chat model that the settings name, behind an endpoint or in this process."""

from __future__ import annotations

from typing import Protocol

from memoryos.config import Settings
from memoryos.models.chat import ChatModel, OpenAIChat
from memoryos.models.local.local_chat import LocalChat


class ConnectedChat(ChatModel, Protocol):
    """A chat model that holds something."""

    def reach(self) -> None:
        """Check that the model can answer; nothing is asked of it. Raises ModelError."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


def chat_of(settings: Settings, *, quoting: bool = True, json_mode: bool = False) -> ConnectedChat:
    """The chat model of the settings. Raises ModelNotConfigured; for a local one MissingExtra and InvalidInput."""
    if settings.is_local:
        return LocalChat.named(settings)
    return OpenAIChat(settings, quoting=quoting, json_mode=json_mode)
