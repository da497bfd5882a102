"""OpenedModel: the local model of a store, as it answers and as torch computes it, which trains.

Each is loaded when it is first needed; with transformers, both are the same.
"""

from __future__ import annotations

from threading import Lock

from memoryos.config import LOCAL, LocalRuntime, Settings
from memoryos.errors import MissingExtra, ModelNotConfigured
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.opened_engines import are_installed, opened, runtime_of

_TRAINING = ("torch", "transformers", "safetensors", "peft")


class OpenedModel:
    """The model that the setting `llm_model` names, if it is one of this machine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._engines: dict[LocalRuntime | None, LocalEngine] = {}

    @property
    def is_set(self) -> bool:
        """Whether the setting names a local model."""
        return (self._settings.llm_model or "").startswith(LOCAL)

    @property
    def is_trainable(self) -> bool:
        """Whether the setting names a local model, and what trains it is installed."""
        return self.is_set and are_installed(_TRAINING)

    @property
    def is_composing(self) -> bool:
        """Whether what computes the model puts KV states together. Raises MissingExtra unless it is installed."""
        files = ModelFiles.named(self._settings.llm_model or LOCAL)
        return self.is_set and runtime_of(files, self._settings) is LocalRuntime.TRANSFORMERS

    def check(self) -> None:
        """Raise ModelNotConfigured unless the setting names a local model."""
        if not self.is_set:
            raise ModelNotConfigured("this needs a model of this machine: set MEMORYOS_LLM_MODEL to local:PATH")

    def check_training(self) -> None:
        """Raise ModelNotConfigured as `check`, and MissingExtra without torch and peft."""
        self.check()
        if not self.is_trainable:
            raise MissingExtra("Training an adapter (with torch and peft, also for llama.cpp)", "local")

    def engine(self) -> LocalEngine:
        """Return the model as it answers.

        Raises ModelNotConfigured, MissingExtra, InvalidInput if its files are gone, ModelError.
        """
        return self._opened(self._settings.local_runtime)

    def torch_engine(self) -> LocalEngine:
        """Return the model as torch computes it, whatever else computes it. Raises as `engine`."""
        return self._opened(LocalRuntime.TRANSFORMERS)

    def forget(self) -> None:
        """Let go what the engines hold of the last prompts and adapters."""
        for engine in list(self._engines.values()):
            engine.forget()

    def _opened(self, runtime: LocalRuntime | None) -> LocalEngine:
        self.check()
        with self._lock:
            if runtime not in self._engines:
                settings = self._settings.model_copy(update={"local_runtime": runtime})
                self._engines[runtime] = opened(ModelFiles.named(self._settings.llm_model or LOCAL), settings)
            return self._engines[runtime]
