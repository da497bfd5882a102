"""Unpacked GGUF: a GGUF file as a folder that transformers loads in seconds, made once and kept in a cache."""

from __future__ import annotations

import io
import json
import shutil
import time
from contextlib import redirect_stderr, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from memoryos.models.local.fingerprint import files_digest
from memoryos.models.local.model_files import ModelFiles

WEIGHTS = "model.safetensors"
_SUM = "memoryos.json"
_DRAFT = "unpacking-"  # before the name of a folder that is being written
_LEFT_SECONDS = 86_400  # after which the process that wrote a draft is taken for dead


def unpacked(files: ModelFiles, cache: Path) -> Path:
    """Return the folder of the unpacked model; it is made if it is missing or damaged."""
    folder = cache / files_digest(*files.weights)[:32]
    if not _is_whole(folder):
        cache.mkdir(parents=True, exist_ok=True)
        _remove_left(cache)
        draft = Path(mkdtemp(prefix=_DRAFT, dir=cache))
        try:
            _unpack(files.path, draft)
            shutil.rmtree(folder, ignore_errors=True)
            draft.rename(folder)  # another process may have done the same meanwhile: then theirs stays
        except OSError:
            if not _is_whole(folder):
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder


def _remove_left(cache: Path) -> None:
    """Remove the drafts of processes that were killed."""
    for draft in cache.glob(f"{_DRAFT}*"):
        with suppress(OSError):  # another process may remove it, too
            if time.time() - draft.stat().st_mtime > _LEFT_SECONDS:
                shutil.rmtree(draft)


def _unpack(file: Path, folder: Path) -> None:
    import torch
    from safetensors.torch import save_file
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where: dict[str, Any] = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    with redirect_stderr(io.StringIO()):  # it shows a progress bar whatever it is told
        model = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    AutoTokenizer.from_pretrained(**where).save_pretrained(folder)
    tied = set(getattr(model, "_tied_weights_keys", None) or ()) if model.config.tie_word_embeddings else set()
    weights = {name: one.contiguous() for name, one in model.state_dict().items() if name not in tied}
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    told = {name: value for name, value in model.config.to_dict().items() if name != "quantization_config"}
    told["architectures"] = [type(model).__name__]
    (folder / "config.json").write_text(json.dumps(told, indent=1, default=str))
    (folder / _SUM).write_text(json.dumps({"sha256": files_digest(folder / WEIGHTS)}))


def _is_whole(folder: Path) -> bool:
    """Whether the folder holds the weights that were written."""
    try:
        noted = json.loads((folder / _SUM).read_text())["sha256"]
        return bool(noted == files_digest(folder / WEIGHTS))
    except (OSError, ValueError, KeyError):
        return False
