"""What a reranker is: a slower, better judge of the few turns that were found. None is built in or used by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Judges texts against a question: a cross-encoder, a chat model, a rule."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the question, higher is better, in the order of the texts."""
