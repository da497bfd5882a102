"""WeightedAdapter: an adapter that takes part in a computation."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, weakref_slot=True)
class WeightedAdapter:
    """A LoRA adapter in a folder, and how much it counts."""

    sha256: str  #: of its configuration and weights
    weight: float = 1.0
    folder: Path = field(default=Path(), compare=False)  #: adapter_config.json and adapter_model.safetensors of peft


Adapters = tuple[WeightedAdapter, ...]  # in the order in which they are added
