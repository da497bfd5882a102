"""OpenedModel: the local model of a store as adapters need it: computed by torch, whatever else computes it.

It is loaded when it is first needed.
"""

from __future__ import annotations

from threading import Lock

from memoryos.config import LOCAL, LocalRuntime, Settings
from memoryos.errors import ModelNotConfigured
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.opened_engines import opened


class OpenedModel:
    """The model that the setting `llm_model` names, if it is one of this machine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.model_copy(update={"local_runtime": LocalRuntime.TRANSFORMERS})
        self._lock = Lock()
        self._engine: LocalEngine | None = None

    @property
    def is_set(self) -> bool:
        """Whether the setting names a local model."""
        return (self._settings.llm_model or "").startswith(LOCAL)

    def check(self) -> None:
        """Raise ModelNotConfigured unless the setting names a local model."""
        if not self.is_set:
            raise ModelNotConfigured("this needs a model of this machine: set MEMORYOS_LLM_MODEL to local:PATH")

    def engine(self) -> LocalEngine:
        """Return the model. Raises ModelNotConfigured, MissingExtra, InvalidInput if its files are gone, ModelError."""
        self.check()
        with self._lock:
            if self._engine is None:
                self._engine = opened(ModelFiles.named(self._settings.llm_model or LOCAL), self._settings)
            return self._engine
