"""Rounding: keys and values as 8-bit numbers, each vector of a head with a scale of its own."""

from __future__ import annotations

from typing import Any

import torch

_STEPS = 127


def rounded(values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the vectors as 8-bit numbers, and their scales."""
    exact = values.float()
    scale = exact.abs().amax(dim=-1, keepdim=True).clamp(min=1e-12) / _STEPS
    return (exact / scale).round().to(torch.int8), scale


def restored(numbers: torch.Tensor, scale: torch.Tensor, dtype: Any) -> torch.Tensor:
    """Return the vectors, nearly as they were."""
    return (numbers.float() * scale).to(dtype)
