"""Watermark: a statistical mark in the words of a model (Kirchenbauer et al. 2023), as transformers has it.

The token before the next one and the key choose a quarter of the vocabulary. The model favours these tokens, and who
has the key counts them. The generator of torch takes 32 bits of a seed, so each token has a seed of its own under the
key: who guesses the seed of one token knows nothing about the others.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise

import torch
from transformers import WatermarkingConfig
from transformers.generation.logits_process import WatermarkLogitsProcessor

from memoryos.models.local.watermark_evidence import WatermarkEvidence, evidence_of

CONFIG = WatermarkingConfig(greenlist_ratio=0.25, bias=2.0, seeding_scheme="lefthash", context_width=1)


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
        return self(torch.tensor([[before]]), logits[None])[0]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Mark the scores of the tokens that follow these rows, as a logits processor of transformers."""
        return super().__call__(input_ids.cpu(), scores.float().cpu()).to(scores.device)

    def chosen(self, before: int) -> set[int]:
        """The tokens that are favoured behind this one."""
        return set(self._get_greenlist_ids(torch.tensor([before])).tolist())


def evidence_in(tokens: Sequence[int], key: bytes, vocabulary: int, model: str) -> WatermarkEvidence:
    """Count the favoured tokens; a pair of tokens that is repeated counts once.

    The detector of transformers counts repeated pairs again before its version 5.20.
    """
    behind: dict[int, set[int]] = {}
    for before, token in pairwise(tokens):
        behind.setdefault(before, set()).add(token)
    mark = KeyedWatermark(key, vocabulary)
    favoured = sum(len(found & mark.chosen(before)) for before, found in behind.items())
    return evidence_of(sum(map(len, behind.values())), favoured, CONFIG.greenlist_ratio, model)
