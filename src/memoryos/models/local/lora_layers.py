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
from memoryos.models.local.weighted_adapter import CONFIG, WEIGHTS, Adapters, WeightedAdapter, layers_in, tensor_names

Matrices = dict[str, tuple[torch.Tensor, torch.Tensor]]  # by the name of the layer: down, and up with the scale


class LoraLayers:
    """Adds adapters to the layers of one model."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._known: WeakKeyDictionary[WeightedAdapter, Matrices] = WeakKeyDictionary()  # as long as answers need them

    def check(self, adapter: WeightedAdapter) -> None:
        """Raise ModelError unless the adapter fits the model. Its matrices are kept as long as the adapter."""
        self._matrices(adapter)

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
            config = json.loads(adapter.files[CONFIG])
            tensors = load(adapter.files[WEIGHTS])
            scale = float(config["lora_alpha"]) / float(config["r"])
            return {name: self._fitting(name, tensors, scale) for name in layers_in(tensors)}
        except (KeyError, ValueError, TypeError, AttributeError, ArithmeticError, SafetensorError) as error:
            told = f"{type(error).__name__}: {error}"[:200]
            raise ModelError(f"the adapter does not fit the model, or its files are damaged: {told}") from error

    def _fitting(self, name: str, tensors: dict[str, torch.Tensor], scale: float) -> tuple[torch.Tensor, torch.Tensor]:
        down, up = (tensors[one] for one in tensor_names(name))
        weight = self._model.get_submodule(name).weight
        if (up.shape[0], down.shape[1]) != tuple(weight.shape) or down.shape[0] != up.shape[1]:
            raise ValueError(f"{name} has another size than its layer or its other half")
        if not (down.isfinite().all() and up.isfinite().all()):
            raise ValueError(f"{name} has numbers that are not finite")
        return down.to(weight), up.to(weight) * scale


def sharing(model: Any) -> Any:
    """A copy of the model's layers around the same weights: matrices are put into it, and not into the model."""
    weights = [*model.parameters(), *model.buffers()]
    copy = deepcopy(model, {id(one): one for one in weights})
    return copy.train(False)


def _plus(pair: tuple[torch.Tensor, torch.Tensor], weight: float, _layer: Any, inputs: Any, output: Any) -> Any:
    down, up = pair
    return output + weight * ((inputs[0] @ down.T) @ up.T)
