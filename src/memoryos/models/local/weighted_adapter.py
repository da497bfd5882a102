"""WeightedAdapter: an adapter that takes part in a computation, with its files in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"  # the files of a peft folder
_BEFORE, _DOWN, _UP = "base_model.model.", ".lora_A.weight", ".lora_B.weight"  # around the name of a layer


@dataclass(frozen=True, slots=True, weakref_slot=True)
class WeightedAdapter:
    """A LoRA adapter, and how much it counts."""

    sha256: str  #: of its configuration and weights
    weight: float = 1.0
    files: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)  #: those of its peft folder

    @classmethod
    def of(cls, files: Mapping[str, bytes], weight: float = 1.0) -> Self:
        """The adapter in these files. Raises KeyError if one is missing."""
        return cls(sha256(files[CONFIG] + files[WEIGHTS]).hexdigest(), weight, files)


Adapters = tuple[WeightedAdapter, ...]  # in the order in which they are added


def without_files(adapters: Adapters) -> Adapters:
    """The same adapters as names, for what is kept longer than their files."""
    return tuple(WeightedAdapter(one.sha256, one.weight) for one in adapters)


def layers_in(tensors: Iterable[str]) -> list[str]:
    """The names of the layers that these tensors change. Raises ValueError if there are none."""
    names = [name.removeprefix(_BEFORE).removesuffix(_DOWN) for name in tensors if name.endswith(_DOWN)]
    if not names:
        raise ValueError("it has no matrices")
    return names


def tensor_names(layer: str) -> tuple[str, str]:
    """The names of both matrices of a layer: down, and up."""
    return f"{_BEFORE}{layer}{_DOWN}", f"{_BEFORE}{layer}{_UP}"
