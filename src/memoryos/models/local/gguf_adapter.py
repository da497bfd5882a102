"""GgufAdapter: the matrices of a peft adapter as llama.cpp loads them, in a GGUF file.

llama.cpp gives the layers other names, and it rotates neighbouring numbers where transformers rotates halves: the rows
of queries and keys stand in another order, in the weights of the file as in what an adapter adds to them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memoryos.errors import ModelError
from memoryos.models.local.gguf_header import GgufHeader
from memoryos.models.local.weighted_adapter import CONFIG, WEIGHTS, WeightedAdapter, layers_in, tensor_names

# The number of heads of the layers whose rows stand in another order, by architecture.
_TURNED = {"llama": {"attn_q": "attention.head_count", "attn_k": "attention.head_count_kv"}, "qwen2": {}, "qwen3": {}}
_LAYERS = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_BLOCKS = "model.layers."

Matrix = NDArray[np.float32]


class GgufAdapter:
    """An adapter for the model of a GGUF file."""

    def __init__(self, adapter: WeightedAdapter, header: GgufHeader) -> None:
        """Convert it. Raises ModelError if it does not fit the model, or is damaged."""
        from safetensors import SafetensorError
        from safetensors.numpy import load

        self._header, self._alpha = header, 0.0
        if header.architecture not in _TURNED:
            known = ", ".join(_TURNED)
            raise ModelError(f"adapters of {header.architecture!r} are not known for llama.cpp here, but of {known}")
        try:
            config = json.loads(adapter.files[CONFIG])
            self._alpha, self._rank = float(config["lora_alpha"]), int(config["r"])
            self._tensors = dict(self._converted(load(adapter.files[WEIGHTS])))
        except (KeyError, ValueError, TypeError, AttributeError, SafetensorError) as error:
            told = f"{type(error).__name__}: {error}"[:200]
            raise ModelError(f"the adapter does not fit the model, or its files are damaged: {told}") from error

    def write(self, file: Path) -> None:
        """Write the file. Raises ModelError."""
        try:
            import gguf
        except ModuleNotFoundError as error:
            raise ModelError("adapters for llama.cpp need the package gguf: install the extra local") from error
        try:
            writer = gguf.GGUFWriter(file, self._header.architecture)
            writer.add_type(gguf.GGUFType.ADAPTER)
            writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
            writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, self._alpha)
            for name, matrix in self._tensors.items():
                writer.add_tensor(name, matrix)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
        except OSError as error:
            raise ModelError(f"the adapter cannot be written for llama.cpp: {error.strerror}") from error

    def _converted(self, tensors: Mapping[str, Any]) -> Iterator[tuple[str, Matrix]]:
        for layer in layers_in(tensors):
            down, up = (np.asarray(tensors[name], dtype=np.float32) for name in tensor_names(layer))
            name = _name(layer)
            if (down.shape[1], up.shape[0]) != self._header.shapes[name] or down.shape[0] != up.shape[1]:
                raise ValueError(f"{layer} has another size than its layer or its other half")
            if down.shape[0] != self._rank:
                raise ValueError(f"{layer} has another rank than the adapter")
            if not (np.isfinite(down).all() and np.isfinite(up).all()):
                raise ValueError(f"{layer} has numbers that are not finite")
            yield f"{name}.lora_a", down
            yield f"{name}.lora_b", self._turned(name, up)

    def _turned(self, name: str, rows: Matrix) -> Matrix:
        """The rows in the order of llama.cpp."""
        counted = _TURNED[self._header.architecture].get(name.split(".")[2])
        if counted is None:
            return rows
        halves = rows.reshape(self._header.number(counted), 2, -1, rows.shape[1])
        return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows.shape))


def _name(layer: str) -> str:
    """How llama.cpp calls the weights of a layer. Raises KeyError if it has none."""
    number, _, part = layer.removeprefix(_BLOCKS).partition(".")
    return f"blk.{number}.{_LAYERS[part]}.weight"
