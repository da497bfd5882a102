"""Telling: how much a word says by itself, whatever a memory holds: "surgery" all, "name" half, "of" next to nothing.

The rows of the static embedder tell it: each is as long as its piece says much, by how rare the piece is in all texts.
"""

from __future__ import annotations

from typing import cast

from memoryos.models.embedder import load_embedder
from memoryos.models.static.multilingual import Multilingual
from memoryos.text_cache import text_cache

_LEAST = 0.3  # of a word that somebody asks with


@text_cache(4_096)
def telling(word: str) -> float:
    """How much a word says, from `_LEAST` to 1; 1 for one that is not known."""
    return float(min(1.0, max(_LEAST, cast("Multilingual", load_embedder("static")).longest(word))))
