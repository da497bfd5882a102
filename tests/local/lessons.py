"""A fact that the tiny model learned, and how its adapter is stored without another training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from memoryos import Memory
from memoryos.built_memory import Parameter
from memoryos.models.local.lora_recipe import TrainingRecipe
from memoryos.operation.training.adapter_cubes import AdapterShelf
from memoryos.operation.training.adapter_gate import GateBounds
from memoryos.operation.training.adapter_pack import packed, read_folder
from memoryos.operation.training.adapter_trainer import fits
from memoryos.operation.training.training_sources import as_trained
from memoryos.operation.training.wanted_adapter import WantedAdapter, want, wanted_adapters

FACT, UNSEEN = "User lives in Oslo.", "Where am I living?"
RECIPE = TrainingRecipe(rank=8, alpha=16, learning_rate=2e-2, epochs=4, replay=0.0)
BOUNDS = GateBounds(least_recall=0.6, most_loss=1.0)
QUICK = replace(BOUNDS, most_questions=2)  # the same gate, which asks less
ANY = GateBounds(least_recall=0.0, most_loss=1e9, most_questions=1)
NAME = "home"

Opened = Callable[..., Memory]


def teach(memory: Memory, folder: Path, fact_ids: list[str], name: str = NAME) -> str:
    """Store the learned adapter as a version that was trained on these facts; return its id."""
    return teach_bytes(memory, packed(read_folder(folder)), fact_ids, name)


def teach_files(memory: Memory, folder: Path, changed: Mapping[str, bytes], fact_ids: list[str], name: str) -> str:
    """The same with some files changed."""
    return teach_bytes(memory, packed({**read_folder(folder), **changed}), fact_ids, name)


def teach_bytes(memory: Memory, data: bytes, fact_ids: list[str], name: str) -> str:
    """Store these bytes as an adapter."""
    engine = memory._engine
    with engine.vault.write(memory.scope) as writer:
        if name not in wanted_adapters(writer):
            want(writer, WantedAdapter(name, ["fact"], recipe=RECIPE, bounds=BOUNDS))
        sources, wanted = list(writer.get(fact_ids).values()), wanted_adapters(writer)[name]
    adapter = Parameter(
        model="tiny",
        method="lora",
        modules=("q_proj",),
        rank=8,
        name=name,
        number=wanted.last + 1,
        fingerprint=fits(engine.local.engine()),
        sources=as_trained(sources),
    )
    return AdapterShelf(engine.vault, memory.scope, engine.clock).store(adapter, data, sources, wanted).id


def add(memory: Memory, text: str = FACT) -> str:
    added = memory.facts.add(text)
    assert added
    return added
