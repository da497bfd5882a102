"""Rerankers: a slower and better judge of the few turns that a search found. None is built in or used by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Reranker(Protocol):
    """Scores texts against a question; for example a cross-encoder, a chat model or a rule."""

    def scores(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return how well each text answers the question, in the order of the texts; higher is better."""
