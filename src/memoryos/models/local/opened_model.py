"""OpenedModel: the local model of a store, which is loaded when it is first needed."""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from memoryos.errors import MissingExtra, ModelNotConfigured
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.model_files import LOCAL, ModelFiles

_CACHE = Path("~/.cache/memoryos")  # of unpacked GGUF files


class OpenedModel:
    """The model that the setting `llm_model` names, if it is one of this machine."""

    def __init__(self, setting: str | None) -> None:
        self._setting = setting or ""
        self._lock = Lock()
        self._engine: LocalEngine | None = None

    @property
    def is_set(self) -> bool:
        """Whether the setting names a local model."""
        return self._setting.startswith(LOCAL)

    def check(self) -> None:
        """Raise ModelNotConfigured unless the setting names a local model."""
        if not self.is_set:
            raise ModelNotConfigured("adapters need a model of this machine: set MEMORYOS_LLM_MODEL to local:PATH")

    def engine(self) -> LocalEngine:
        """Return the model. Raises ModelNotConfigured, MissingExtra, InvalidInput if its files are gone, ModelError."""
        self.check()
        with self._lock:
            if self._engine is None:
                self._engine = _opened(ModelFiles.named(self._setting))
            return self._engine

    def close(self) -> None:
        """Give its memory back."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
            self._engine = None


def _opened(files: ModelFiles) -> LocalEngine:
    try:
        from memoryos.models.local.transformers_engine import TransformersEngine
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "transformers", "safetensors"):
            raise
        raise MissingExtra("A local model", "local") from None
    return TransformersEngine.opened(files, cache=_CACHE.expanduser())
