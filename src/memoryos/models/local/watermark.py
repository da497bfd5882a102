"""Watermark: a statistical mark in the words of a model (Kirchenbauer et al. 2023), as transformers has it.

The token before the next one and the key choose a quarter of the vocabulary. The model favours these tokens, and who
has the key counts them. The generator of torch takes 32 bits of a seed, so each token has a seed of its own under the
key: who guesses the seed of one token knows nothing about the others.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import torch
from transformers import WatermarkDetector, WatermarkingConfig
from transformers.generation.logits_process import WatermarkLogitsProcessor

from memoryos.models.local.watermark_evidence import WatermarkEvidence, evidence_of, nothing_counted

CONFIG = WatermarkingConfig(greenlist_ratio=0.25, bias=2.0, seeding_scheme="lefthash", context_width=1)
_NO_TOKEN = -1  # no text begins with it: none is taken for the beginning of a prompt


class KeyedWatermark(WatermarkLogitsProcessor):  # type: ignore[misc]
    """Favours the tokens that a key chooses, on the CPU, whose generator gives the same on every machine."""

    def __init__(self, key: bytes, vocabulary: int) -> None:
        """Mark tokens of a vocabulary of that size."""
        super().__init__(vocabulary, "cpu", **CONFIG.to_dict())
        self._key = key

    def set_seed(self, input_seq: torch.Tensor) -> None:
        """Seed the choice behind the last of these tokens."""
        digest = hmac.new(self._key, str(int(input_seq[-1])).encode(), sha256).digest()
        self.rng.manual_seed(int.from_bytes(digest[:8], "big"))

    def favoured(self, before: int, logits: torch.Tensor) -> torch.Tensor:
        """The logits of the token that follows `before`, with the mark."""
        return self(torch.tensor([[before]]), logits.float().cpu()[None])[0]


def evidence_in(tokens: Sequence[int], key: bytes, vocabulary: int, model: str) -> WatermarkEvidence:
    """Count the favoured tokens; a pair of tokens that is repeated counts once."""
    if len(tokens) <= CONFIG.context_width:
        return nothing_counted(model)
    known: Any = SimpleNamespace(bos_token_id=_NO_TOKEN, is_encoder_decoder=False, vocab_size=vocabulary)
    detector = WatermarkDetector(known, "cpu", CONFIG, ignore_repeated_ngrams=True)
    detector.processor = KeyedWatermark(key, vocabulary)
    found = detector(torch.tensor([list(tokens)]), return_dict=True)
    counts = int(found.num_tokens_scored[0]), int(found.num_green_tokens[0])
    return evidence_of(*counts, float(found.z_score[0]), float(found.p_value[0]), model)
