"""AnsweringModel: the chat model as it answers people, with the watermark of the store if the setting says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memoryos.config import Settings
from memoryos.errors import ModelNotConfigured
from memoryos.infrastructure.vault.contract import Vault
from memoryos.models.chat import ChatModel
from memoryos.models.local.local_chat import LocalChat
from memoryos.signing import watermark_key

_NOT_LOCAL = "answers with a watermark need a model of this machine: set MEMORYOS_LLM_MODEL to local:PATH"


@dataclass(frozen=True, slots=True)
class AnsweringModel:
    """Returns the chat model for the next answer."""

    model: Callable[[], ChatModel]
    signing_key: Callable[[], bytes]  #: of the store, made if there is none yet
    is_marked: bool

    @classmethod
    def of(cls, model: Callable[[], ChatModel], vault: Vault, settings: Settings) -> AnsweringModel:
        """The model of a store with these settings."""
        return cls(model, vault.erasure.make_signing_key, settings.answer_watermark)

    def __call__(self) -> ChatModel:
        """The model. Raises ModelNotConfigured, and ModelError if its runtime has no watermark."""
        chat = self.model()
        if not self.is_marked:
            return chat
        if not isinstance(chat, LocalChat):
            raise ModelNotConfigured(_NOT_LOCAL)
        return chat.watermarked(watermark_key(self.signing_key()))
