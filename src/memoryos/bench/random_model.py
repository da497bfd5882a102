"""Random model: a model of a known shape with random weights, to measure its speed where no weights are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryos.models.local.short_waits import short_waits

if TYPE_CHECKING:
    from memoryos.models.local.transformers_engine import TransformersEngine


class NumberTokenizer:
    """Stands for the tokenizer of a model of which there is only the shape: a token is its number."""

    chat_template = None
    eos_token_id = None

    def get_vocab(self) -> dict[str, int]:
        """No words."""
        return {}

    def decode(self, ids: Sequence[int], **_: Any) -> str:
        """The numbers."""
        return "".join(f"{one} " for one in ids)


def random_engine(folder: Path, *, device: str, dtype: str = "bfloat16") -> TransformersEngine:
    """An engine with the shape in the folder's config.json."""
    with short_waits():
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        from memoryos.models.local.fingerprint import files_digest
        from memoryos.models.local.transformers_engine import TransformersEngine

    torch.manual_seed(0)
    config = AutoConfig.from_pretrained(folder)
    with torch.device(device):
        model = AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype))
    model.generation_config.eos_token_id = None
    digest = files_digest(folder / "config.json")
    return TransformersEngine(model, NumberTokenizer(), name=f"random {folder.name}", digest=digest)


def random_tokens(engine: TransformersEngine, count: int) -> list[int]:
    """So many tokens of the vocabulary, the same each time."""
    import numpy as np

    return [int(one) for one in np.random.default_rng(0).integers(0, engine.model.config.vocab_size, count)]
