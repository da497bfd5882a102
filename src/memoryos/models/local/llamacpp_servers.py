"""LlamacppServers: llama.cpp with a model alone, and with the adapters of the last answer that had some.

llama.cpp takes adapters only while it loads a model. So other adapters take another server, which shares the mapped
file of the weights with the first one, and has keys and values of its own.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from memoryos.cached_property import cached_property
from memoryos.errors import ModelError
from memoryos.models.local.gguf_adapter import GgufAdapter
from memoryos.models.local.gguf_header import GgufHeader
from memoryos.models.local.llamacpp_server import CLOSED, LlamacppServer
from memoryos.models.local.loaded_files import LoadedFiles
from memoryos.models.local.lora_trainer import FOLDERS
from memoryos.models.local.model_files import ModelFiles
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter, without_files


class LlamacppServers:
    """The servers of one model. Who calls `of` and `forget` sees to it that no other thread does."""

    def __init__(self, files: ModelFiles, *, window: int, threads: int) -> None:
        """Load a GGUF file. Raises ModelError."""
        self._files, self._window, self._threads = files, window, threads
        self._loaded = LoadedFiles(files.weights)
        self.plain = self._opened(())
        self._adapted: tuple[Adapters, LlamacppServer] | None = None

    @property
    def digest(self) -> str:
        """The sha256 of the files of the model."""
        return self._loaded.digest

    def check(self, adapter: WeightedAdapter) -> None:
        """Raise ModelError unless the adapter fits the model, whose file must still be there."""
        self._loaded.check()
        loaded = self._adapted[0] if self._adapted else ()
        if adapter.sha256 not in {one.sha256 for one in loaded}:
            GgufAdapter(adapter, self._header)

    def of(self, adapters: Adapters) -> LlamacppServer:
        """The server that computes with these adapters. Raises ModelError."""
        if not adapters:
            return self.plain
        if self.plain.is_closed:
            raise ModelError(CLOSED)
        if self._adapted is None or self._adapted[0] != adapters:
            self._adapted = None  # its memory is free before the next one takes some
            self._adapted = without_files(adapters), self._opened(adapters)
        return self._adapted[1]

    def forget(self) -> None:
        """Forget the last prompts, and the adapters. Raises ModelError if it was closed."""
        self._adapted = None
        self.plain.clear()

    def close(self) -> None:
        """Give the memory back."""
        self._adapted = None
        self.plain.close()

    def _opened(self, adapters: Adapters) -> LlamacppServer:
        with TemporaryDirectory(prefix=FOLDERS) as folder:
            loaded = []
            for number, one in enumerate(adapters):
                GgufAdapter(one, self._header).write(file := Path(folder, f"{number}.gguf"))
                loaded.append((file, one.weight))
            made = LlamacppServer(self._files.path, window=self._window, threads=self._threads, adapters=loaded)
        self._loaded.check()  # behind it: no file that came meanwhile may compute
        return made

    @cached_property
    def _header(self) -> GgufHeader:
        return GgufHeader.of(self._files.weights)
