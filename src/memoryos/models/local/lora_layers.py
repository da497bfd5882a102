"""LoraLayers: the matrices of adapters, added to what the layers of a model compute for as long as a block runs.

Each adapter counts as much as its weight says, so several can be used together. The weights of the model do not change,
and another thread that computes after the block computes without them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import torch
from safetensors import SafetensorError
from safetensors.torch import load

from memoryos.errors import ModelError
from memoryos.models.local.weighted_adapter import Adapters, WeightedAdapter

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_BEFORE, _DOWN, _UP = "base_model.model.", ".lora_A.weight", ".lora_B.weight"

Matrices = dict[str, tuple[torch.Tensor, torch.Tensor]]  # by the name of the layer: down, and up with the scale


class LoraLayers:
    """Adds adapters to the layers of one model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._known: WeakKeyDictionary[WeightedAdapter, Matrices] = WeakKeyDictionary()  # as long as answers need them

    @contextmanager
    def added(self, adapters: Adapters) -> Iterator[None]:
        """Compute with these adapters in the block. Raises ModelError if one does not fit the model."""
        with ExitStack() as hooks:
            for adapter in adapters:
                for name, pair in self._matrices(adapter).items():
                    layer = self._model.get_submodule(name)
                    hook = layer.register_forward_hook(partial(_plus, pair, adapter.weight))
                    hooks.callback(hook.remove)
            yield

    def _matrices(self, adapter: WeightedAdapter) -> Matrices:
        if adapter not in self._known:
            self._known[adapter] = self._read(adapter)
        return self._known[adapter]

    def _read(self, adapter: WeightedAdapter) -> Matrices:
        try:
            config = json.loads((adapter.folder / CONFIG).read_bytes())
            tensors = load((adapter.folder / WEIGHTS).read_bytes())
            scale = float(config["lora_alpha"]) / float(config["r"])
            return {
                name.removeprefix(_BEFORE).removesuffix(_DOWN): self._fitting(name, tensors, scale)
                for name in tensors
                if name.endswith(_DOWN)
            }
        except (OSError, KeyError, ValueError, TypeError, AttributeError, SafetensorError) as error:
            told = f"{type(error).__name__}: {error}"[:200]
            raise ModelError(f"the adapter does not fit the model, or its files are damaged: {told}") from error

    def _fitting(self, name: str, tensors: dict[str, torch.Tensor], scale: float) -> tuple[torch.Tensor, torch.Tensor]:
        down, up = tensors[name], tensors[name.removesuffix(_DOWN) + _UP]
        weight = self._model.get_submodule(name.removeprefix(_BEFORE).removesuffix(_DOWN)).weight
        if (up.shape[0], down.shape[1]) != tuple(weight.shape):
            raise ValueError(f"{name} is for a layer of another size")
        return down.to(weight), up.to(weight) * scale


def sharing(model: Any) -> Any:
    """A copy of the model's layers around the same weights: matrices are put into it, and not into the model."""
    weights = [*model.parameters(), *model.buffers()]
    copy = deepcopy(model, {id(one): one for one in weights})
    return copy.train(False)


def _plus(pair: tuple[torch.Tensor, torch.Tensor], weight: float, _layer: Any, inputs: Any, output: Any) -> Any:
    down, up = pair
    return output + weight * ((inputs[0] @ down.T) @ up.T)
