"""TorchState: the keys and values of a prefix as tensors, which nothing changes.

A computation that goes on from a state gets a cache of its own (`AppendedLayer`): it copies the state once into a
buffer with room, and appends there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

from memoryos.models.local.rounding import restored, rounded
from memoryos.models.local.state_file import RawTensor
from memoryos.models.local.weighted_adapter import Adapters, without_files

_ROOM = 64  # tokens for which a buffer has room at least, after what it begins with
_NAMES: dict[Any, str] = {
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int8: "I8",
}
_TYPES = {name: dtype for dtype, name in _NAMES.items()}

Layers = tuple[tuple[torch.Tensor, torch.Tensor], ...]


@dataclass(frozen=True, slots=True)
class TorchState:
    """The keys and values of each layer, with the shape (1, heads, tokens, numbers)."""

    tokens: tuple[int, ...]
    layers: Layers
    adapters: Adapters = ()

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return sum(one.nbytes for pair in self.layers for one in pair)

    def cache(self, count: int, more: int) -> Cache:
        """Return a cache that begins with the first `count` tokens, with room for `more`; the state stays as it is."""
        layers: list[Any] = [AppendedLayer(keys, values, count, more) for keys, values in self.layers]
        return Cache(layers=layers)

    def tensors(self, bits: int | None) -> dict[str, RawTensor]:
        """Return the tensors by name, as bytes; with `bits=8` as rounded numbers and their scales."""
        pairs = (
            (f"{side}.{number}", one)
            for number, pair in enumerate(self.layers)
            for side, one in zip("kv", pair, strict=True)
        )
        if bits is None:
            return {name: _raw(one) for name, one in pairs}
        made = ((name, rounded(one)) for name, one in pairs)
        return {key: _raw(one) for name, two in made for key, one in zip((name, f"{name}.scale"), two, strict=True)}


class AppendedLayer(DynamicLayer):
    """The keys and values of one layer in a buffer of its own, in which new ones are appended in place."""

    def __init__(
        self, keys: torch.Tensor | None = None, values: torch.Tensor | None = None, count: int = 0, more: int = 0
    ) -> None:
        super().__init__()
        self._count = 0
        self._room = max(more, _ROOM)
        if keys is not None and values is not None:
            self.lazy_initialization(keys, values, count)
            self._append(keys[..., :count, :], values[..., :count, :])

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor, count: int = 0) -> None:
        """Make the buffers."""
        self.device, self.is_initialized = key_states.device, True
        size = count or key_states.shape[-2]
        self._keys, self._values = (_buffer(one, size + self._room) for one in (key_states, value_states))

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append keys and values, and return all of them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        self._append(key_states, value_states)
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """The number of tokens."""
        return self._count

    def _append(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        end = self._count + keys.shape[-2]
        if end > self._keys.shape[-2]:
            self._keys, self._values = (self._grown(one, end) for one in (self._keys, self._values))
        self._keys[..., self._count : end, :] = keys
        self._values[..., self._count : end, :] = values
        self._count = end
        self.keys, self.values = self._keys[..., :end, :], self._values[..., :end, :]

    def _grown(self, full: torch.Tensor, end: int) -> torch.Tensor:
        larger = _buffer(full, 2 * end)
        larger[..., : self._count, :] = full[..., : self._count, :]
        return larger


def empty_cache(layers: int, more: int) -> Cache:
    """A cache without a beginning."""
    made: list[Any] = [AppendedLayer(more=more) for _ in range(layers)]
    return Cache(layers=made)


def state_of(cache: Cache, tokens: Sequence[int], adapters: Adapters) -> TorchState:
    """What a cache holds, as a state of its own: the cache may go on."""
    count = len(tokens)
    layers: Sequence[Any] = cache.layers
    pairs = ((one.keys[..., :count, :].clone(), one.values[..., :count, :].clone()) for one in layers)
    return TorchState(tuple(tokens), tuple(pairs), without_files(adapters))


def layers_of(tensors: Mapping[str, RawTensor], bits: int | None, dtype: Any, device: Any) -> Layers:
    """The tensors of a file as layers. Raises KeyError if one is missing."""
    numbers = sorted({int(name.split(".")[1]) for name in tensors})
    return tuple(
        (_read(tensors, f"k.{number}", bits, dtype, device), _read(tensors, f"v.{number}", bits, dtype, device))
        for number in numbers
    )


def _read(tensors: Mapping[str, RawTensor], name: str, bits: int | None, dtype: Any, device: Any) -> torch.Tensor:
    exact = _tensor(tensors[name])
    if bits is not None:
        exact = restored(exact, _tensor(tensors[f"{name}.scale"]), dtype)
    return exact.to(device)


def _buffer(like: torch.Tensor, size: int) -> torch.Tensor:
    return like.new_empty((*like.shape[:-2], size, like.shape[-1]))


def _raw(tensor: torch.Tensor) -> RawTensor:
    flat = tensor.detach().contiguous().cpu()
    return RawTensor(_NAMES[flat.dtype], tuple(flat.shape), memoryview(flat.view(torch.uint8).numpy()).cast("B"))


def _tensor(raw: RawTensor) -> torch.Tensor:
    """The bytes in place, also where they cannot be written: nothing writes to a state."""
    known = np.frombuffer(raw.data, np.uint8)
    # Said to be writable, since torch warns of others and knows none that are not.
    told = {**known.__array_interface__, "data": (known.ctypes.data, False)}
    lent = np.asarray(SimpleNamespace(__array_interface__=told, owner=known))
    return torch.from_numpy(lent).view(_TYPES[raw.dtype]).view(raw.shape)


def pieces(tokens: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """The tokens in parts of at most `size`: attention over all at once takes memory by the square."""
    return (tokens[start : start + size] for start in range(0, len(tokens), size))
