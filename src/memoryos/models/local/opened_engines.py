"""Opened engines: each local model is loaded once in a process, when it is first asked, and shared."""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from weakref import WeakValueDictionary

from memoryos.config import LocalRuntime, Settings
from memoryos.errors import MissingExtra
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.short_waits import short_waits
from memoryos.process_lock import ProcessLock

_NEEDED = {
    LocalRuntime.TRANSFORMERS: ("torch", "transformers", "safetensors"),
    LocalRuntime.LLAMACPP: ("xllamacpp",),
}
_lock = ProcessLock()
_opened: WeakValueDictionary[tuple[object, ...], LocalEngine] = WeakValueDictionary()
if hasattr(os, "register_at_fork"):  # not on Windows; a forked child has none of their threads, and loads its own
    os.register_at_fork(after_in_child=_opened.clear)


def runtime_of(files: ModelFiles, settings: Settings) -> LocalRuntime:
    """What computes this model. Raises MissingExtra unless it is installed."""
    usual = LocalRuntime.LLAMACPP if files.is_gguf else LocalRuntime.TRANSFORMERS
    runtime = settings.local_runtime or usual
    if not are_installed(_NEEDED[runtime]):
        raise MissingExtra(f"A model in this process ({runtime})", "local", "a model behind an endpoint")
    return runtime


def are_installed(names: Iterable[str]) -> bool:
    """Whether these packages are there; none is imported."""
    return all(find_spec(name) is not None for name in names)


def opened(files: ModelFiles, settings: Settings) -> LocalEngine:
    """The engine of this model. Raises MissingExtra, InvalidInput and ModelError."""
    files.check()
    runtime, threads = runtime_of(files, settings), settings.local_threads or os.cpu_count() or 1
    key = (files.path.resolve(), runtime, settings.local_window, threads, settings.local_cache)
    with _lock:
        engine = _opened.get(key)
        if engine is None:
            with short_waits():
                engine = _opened[key] = _made(files, runtime, threads, settings)
        return engine


def _made(files: ModelFiles, runtime: LocalRuntime, threads: int, settings: Settings) -> LocalEngine:
    if runtime is LocalRuntime.LLAMACPP:
        from memoryos.models.local.llamacpp_engine import LlamacppEngine

        return LlamacppEngine(files, window=settings.local_window, threads=threads)
    from memoryos.models.local.transformers_engine import TransformersEngine

    cache = settings.local_cache or Path.home() / ".cache" / "memoryos"
    return TransformersEngine.opened(files, cache=cache, window=settings.local_window, threads=settings.local_threads)
