"""LlamacppServer: llama.cpp in this process, with its one slot of keys and values.

It computes for one prompt at a time. What is done with the slot goes over its own door on this machine, which a random
key closes to others. States pass through memory files, which have no name and end with the process.
"""

from __future__ import annotations

import json
import mmap
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from memoryos.errors import ModelError, PromptTooLong

CAN_SAVE = sys.platform == "linux"  #: whether what the slot holds can be saved and restored here
_SECONDS = 600.0  # for a request of this process to itself
CLOSED = "the local model was closed"
_TOO_LONG = "exceed_context_size_error"


class LlamacppServer:
    """One model of llama.cpp."""

    def __init__(self, file: Path, *, window: int, threads: int, adapters: Sequence[tuple[Path, float]] = ()) -> None:
        """Load a GGUF file, and adapters in such files with how much they count. Raises ModelError."""
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = str(file)
        params.hostnames = ["127.0.0.1"]  # its door is for this machine alone
        params.n_ctx, params.n_parallel = window, 1
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
        params.warmup, params.verbosity, params.cache_ram_mib = False, -1, 0
        # With flash attention, a token computed after a state has not quite the numbers that it has in a whole prompt.
        params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        params.use_jinja, params.prefill_assistant = True, False
        params.slot_save_path = "/proc/self/fd/"  # where a file is named by its number
        params.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(str(path), weight) for path, weight in adapters]
        key = secrets.token_hex(32)
        params.api_keys = [key]
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        try:
            self._server: Any = xllamacpp.Server(params)
        except RuntimeError as error:
            raise ModelError(f"llama.cpp cannot load {file}: {error}") from error
        self._place = urlsplit(str(self._server.listening_address))

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._server is None

    @property
    def window(self) -> int:
        """How many tokens fit."""
        return int(self._asked("GET", "/props")["default_generation_settings"]["n_ctx"])

    def tokens(self, text: str, counts_control: bool) -> list[int]:
        """Return the tokens of a text."""
        body = {"content": text, "add_special": False, "parse_special": counts_control}
        return list(self._asked("POST", "/tokenize", body)["tokens"])

    def filled(self, messages: Any, answers: bool) -> str:
        """Return the chat template with these messages."""
        body = {"messages": messages, "add_generation_prompt": answers}
        return str(self._asked("POST", "/apply-template", body)["prompt"])

    def complete(self, body: dict[str, Any], heard: Callable[[dict[str, Any]], bool] | None = None) -> dict[str, Any]:
        """Compute; with `heard`, which gets each piece and says whether to stop. Raises ModelError, PromptTooLong."""
        request = {"id_slot": 0, **body}
        try:
            done = (
                self._server.handle_completions(request, heard) if heard else self._server.handle_completions(request)
            )
        except (RuntimeError, ValueError) as error:
            raise ModelError(f"llama.cpp failed: {error}") from error
        if isinstance(done, dict) and "error" in done:
            raise _failure(done["error"])
        return done if isinstance(done, dict) else {}

    def saved(self) -> mmap.mmap:
        """Return what the slot holds, mapped from a memory file. Raises ModelError."""
        with _memory_file() as number:
            self._asked("POST", "/slots/0?action=save", {"filename": str(number)})
            return mmap.mmap(number, 0, access=mmap.ACCESS_READ)

    def restore(self, data: bytes | memoryview | mmap.mmap) -> None:
        """Put a state that `saved` returned into the slot. A damaged one ends the process: check its sum before."""
        with _memory_file() as number:
            with os.fdopen(os.dup(number), "wb") as file:
                file.write(data)
            self._asked("POST", "/slots/0?action=restore", {"filename": str(number)})

    def clear(self) -> None:
        """Forget what the slot holds."""
        self._asked("POST", "/slots/0?action=erase", {})

    def close(self) -> None:
        """Give the memory back."""
        self._server = None

    def _asked(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        if self.is_closed:
            raise ModelError(CLOSED)
        with closing(HTTPConnection(self._place.hostname or "", self._place.port, timeout=_SECONDS)) as connection:
            try:
                connection.request(method, path, json.dumps(body) if body is not None else None, self._headers)
                told = json.loads(connection.getresponse().read())
            except (OSError, HTTPException, ValueError) as error:
                raise ModelError(f"llama.cpp does not answer: {type(error).__name__}") from error
        if "error" in told:
            raise _failure(told["error"])
        return dict(told)


def _failure(told: dict[str, Any]) -> ModelError:
    if told.get("type") == _TOO_LONG:
        return PromptTooLong(int(told["n_prompt_tokens"]), int(told["n_ctx"]))
    return ModelError(f"llama.cpp failed: {told.get('message', told)}")


@contextmanager
def _memory_file() -> Iterator[int]:
    """The number of a file without a name, which ends with the process. Raises ModelError, also for errors inside."""
    if sys.platform != "linux":
        raise ModelError("KV states of llama.cpp need Linux, where a file is reached by its number; use transformers")
    try:
        number = os.memfd_create("memoryos-kv")
        try:
            yield number
        finally:
            os.close(number)
    except (OSError, ValueError) as error:
        raise ModelError(f"the KV state of llama.cpp cannot be moved: {error}") from error
