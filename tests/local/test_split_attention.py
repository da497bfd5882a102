"""Attention in two parts is that of torch: for heads that share keys, several rows, padding, and training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch

SHAPES = [(2, 3), (5, 40), (17, 1), (64, 300)]  # new tokens, known ones


class Layer:
    """What a layer tells torch's attention."""

    num_key_value_groups = 3
    is_causal = True


@pytest.fixture(scope="module")
def attention() -> Any:
    """The module, which is imported here: each worker collects these tests, and torch takes it three seconds."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from memoryos.models.local import split_attention

    return split_attention


def tensors(new: int, known: int, rows: int = 2) -> list[torch.Tensor]:
    import torch

    torch.manual_seed(new)
    return [torch.randn(rows, heads, count, 16) for heads, count in ((6, new), (2, new + known), (2, new + known))]


def whole(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float) -> torch.Tensor:
    import torch

    new, count = query.shape[-2], key.shape[-2]
    mask = torch.ones(new, count, dtype=torch.bool).tril(count - new)
    keys, values = (one.repeat_interleave(3, dim=1) for one in (key, value))
    found = torch.nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask, scale=scale)
    return found.transpose(1, 2)


@pytest.mark.parametrize(("new", "known"), SHAPES)
def test_two_parts_are_the_whole(attention, new, known):
    import torch

    given = tensors(new, known)
    with torch.inference_mode():
        found, _ = attention.attend(Layer(), *given, None, scaling=0.3)
        assert torch.allclose(found, whole(*given, 0.3), atol=1e-5)


def test_numbers_of_16_bits_stay_so(attention):
    import torch

    given = [one.bfloat16() for one in tensors(64, 300)]
    with torch.inference_mode():
        found, _ = attention.attend(Layer(), *given, None, scaling=0.3)
        assert found.dtype == torch.bfloat16
        assert torch.allclose(found, whole(*given, 0.3), atol=0.05)


@pytest.mark.parametrize(("new", "known"), SHAPES)
def test_what_is_trained_is_causal_too(attention, new, known):
    import torch

    given = tensors(new, known)
    found, _ = attention.attend(Layer(), *given, None, scaling=0.3)
    assert torch.allclose(found, whole(*given, 0.3), atol=1e-5)


def test_a_mask_of_padding_counts(attention, tiny):
    import torch
    import transformers

    ids, mask = torch.tensor([[5, 9, 30, 11], [0, 0, 7, 8]]), torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1]])
    plain = transformers.AutoModelForCausalLM.from_pretrained(tiny).eval()
    split = transformers.AutoModelForCausalLM.from_pretrained(tiny).eval()
    attention.split_attention(split)
    assert (plain.config._attn_implementation, split.config._attn_implementation) == ("sdpa", attention.NAME)
    with torch.inference_mode():
        found, expected = (one(input_ids=ids, attention_mask=mask).logits[:, -1] for one in (split, plain))
    assert torch.allclose(found, expected, atol=1e-5)


def test_a_model_that_asked_for_another_attention_keeps_it(attention, tiny):
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(tiny, attn_implementation="eager")
    attention.split_attention(model)
    assert model.config._attn_implementation == "eager"
