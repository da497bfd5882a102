"""Attention of several new tokens to what a KV state holds, without computing what a mask would hide.

A mask for new tokens behind a state hides only the later ones among them, but it costs a pass over all keys, and on a
CPU torch computes what is hidden. Here the attention to the state, which nothing hides, and the causal attention among
the new tokens are computed apart, and put together by the sums of their exponentials (Dao et al. 2022, FlashAttention,
section 3.1). The heads that share keys are rows of one product in the first part, so keys are read once.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "memoryos_split"
Attended = tuple[torch.Tensor, None]  # what a layer expects: the attention, and its weights, which are not told

# Returns the sums, too, which torch's public function keeps for itself; not in every build of torch.
_flash: Any = getattr(torch.ops.aten, "_scaled_dot_product_flash_attention_for_cpu", None)


def split_attention(model: Any) -> None:
    """Have a model on a CPU compute its attention in two parts, if it uses that of torch."""
    if model.device.type == "cpu" and model.config._attn_implementation == "sdpa" and _flash is not None:
        AttentionInterface.register(NAME, attend)
        AttentionMaskInterface.register(NAME, _mask)
        model.set_attn_implementation(NAME)


def attend(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any, **others: Any
) -> Attended:
    """Return the attention of one layer, of the shape (batch, tokens, heads, size). Without a mask it is causal."""
    new, known = query.shape[-2], key.shape[-2] - query.shape[-2]
    if attention_mask is not None or new == 1 or known <= 0:
        return cast("Attended", sdpa_attention_forward(module, query, key, value, attention_mask, **others))
    if not torch.is_inference_mode_enabled() or key.shape[-1] != value.shape[-1]:
        causal = torch.ones(new, key.shape[-2], dtype=torch.bool, device=key.device).tril(known)[None, None]
        return cast("Attended", sdpa_attention_forward(module, query, key, value, causal, **others))
    return _put_together(query, key, value, known, others.get("scaling")).transpose(1, 2).contiguous(), None


def _put_together(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, known: int, scale: float | None
) -> torch.Tensor:
    batch, heads, new, size = query.shape
    shared = heads // key.shape[1]
    rows = query.reshape(batch, heads // shared, shared * new, size)
    state, of_state = _flash(rows, key[..., :known, :], value[..., :known, :], 0.0, False, scale=scale)
    keys, values = (one[..., known:, :].repeat_interleave(shared, dim=1) for one in (key, value))
    own, of_own = _flash(query, keys, values, 0.0, True, scale=scale)
    share = torch.sigmoid(of_own - of_state.reshape(of_own.shape)).unsqueeze(-1)
    return torch.lerp(state.reshape(own.shape).to(share.dtype), own.to(share.dtype), share).to(query.dtype)


def _mask(*args: Any, **others: Any) -> torch.Tensor | None:
    """No mask where a causal one is meant; otherwise that of torch."""
    is_causal = others.get("allow_is_causal_skip", True) and others.get("local_size") is None
    if is_causal and others.get("attention_mask") is None and torch.is_inference_mode_enabled():
        return None
    return sdpa_mask(*args, **others)
