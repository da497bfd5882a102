"""Moved keys: the keys of a block of tokens at other positions than those that they were computed at (RoPE).

A key is rotated by its position, so rotating it once more moves it. Values have no position. What the block would have
read of the text before it at its new place is not in it: that is what makes a composed state inexact.
"""

from __future__ import annotations

from typing import Any

import torch

from memoryos.models.local.torch_state import AppendedLayer, Layers

_BY_LENGTH = ("dynamic", "longrope")  # kinds of positions whose steps change with the length of the text
_TOLERANCE = 1e-2  # relative; another kind of positions misses by far more, also in 16 bits


def frequencies(model: Any) -> torch.Tensor | None:
    """How far each pair of numbers turns for one position; None if that differs by the length of the text."""
    turning = [one for one in model.modules() if getattr(one, "rope_type", None) not in _BY_LENGTH]
    found = (getattr(one, "inv_freq", None) for one in turning)
    return next((one for one in found if isinstance(one, torch.Tensor)), None)


def moved(keys: torch.Tensor, by: int, turns: torch.Tensor) -> torch.Tensor:
    """Keys with the shape (..., tokens, numbers), `by` so many positions further."""
    angles = (by * turns.float().to(keys.device)).repeat(2)
    size = angles.shape[0]  # of a model that turns a part of its numbers, the rest has no position
    turned, rest = keys[..., :size].float(), keys[..., size:]
    half = size // 2
    other = torch.cat((-turned[..., half:], turned[..., :half]), dim=-1)
    return torch.cat(((turned * angles.cos() + other * angles.sin()).to(keys.dtype), rest), dim=-1)


def is_moved(keys: torch.Tensor, by: int, turns: torch.Tensor, wanted: torch.Tensor) -> bool:
    """Whether keys of the first layer, once moved, are but for rounding those that were computed at that place."""
    return bool((moved(keys, by, turns).float() - wanted.float()).norm() <= _TOLERANCE * wanted.float().norm())


def append_block(cache: Any, layers: Layers, done: int, by: int, turns: torch.Tensor) -> None:
    """Append a block to a cache, moved by so many positions, without its first `done` tokens."""
    for layer, (keys, values) in zip(cache.layers, layers, strict=True):
        assert isinstance(layer, AppendedLayer)  # noqa: S101 - the engine makes no other
        rest = keys[..., done:, :]
        layer.update(moved(rest, by, turns) if by else rest, values[..., done:, :])
