"""Imported adapter: a folder that `export` wrote, as a version that fits the model of this store."""

from __future__ import annotations

import json
from pathlib import Path

from memoryos.built_memory import AdapterStage, Parameter
from memoryos.errors import InvalidInput
from memoryos.models.local.local_engine import LocalEngine
from memoryos.models.local.weighted_adapter import CONFIG
from memoryos.operation.training.adapter_pack import ABOUT, packed, read_folder
from memoryos.operation.training.adapter_trainer import METHOD, is_for

MOST_RANK = 4_096


def imported(folder: Path, engine: LocalEngine, name: str | None) -> tuple[Parameter, bytes]:
    """The adapter in a folder, and its bytes. Raises InvalidInput unless it fits the model."""
    files = read_folder(folder)
    about, config = json.loads(files[ABOUT]), json.loads(files[CONFIG])
    fingerprint = str(about.get("fingerprint"))
    if not is_for(fingerprint, engine):
        told = f"was trained for another model than {engine.name}"
        raise InvalidInput("folder", told, "Open the store with the model that it was trained for, or train it again")
    rank, modules = config.get("r"), config.get("target_modules")
    if not isinstance(rank, int) or not 1 <= rank <= MOST_RANK or not isinstance(modules, list):
        raise InvalidInput("folder", "has an adapter_config.json that is not of a LoRA adapter", "Export it again")
    adapter = Parameter(
        model=engine.name,
        method=METHOD,
        modules=tuple(sorted(map(str, modules))),
        rank=rank,
        text=f"imported adapter {folder.name}",
        name=name or str(about.get("name") or folder.name),
        fingerprint=fingerprint,
        stage=AdapterStage.READY,
    )
    return adapter, packed(files)
