"""A cache of the vectors of texts: a question is often asked twice, and a model is slow.

The same holds for single words, where what is ranked for one question alone has mostly words that were met before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memoryos.models.embedder import Embedder
from memoryos.text_cache import text_cache

QUESTIONS = 256  # some 3 MB with the longest vectors in use
WORDS = 8_192  # some 9 MB


class Remembered:
    """Embeds one text at a time, one of the latest without the model. Threads may share one."""

    def __init__(self, embedder: Embedder, kept: int = QUESTIONS) -> None:
        self.name = embedder.name
        self.dim = embedder.dim

        def embed(text: str) -> NDArray[np.float32]:
            vector = np.array(embedder.embed([text])[0], dtype=np.float32)
            vector.setflags(write=False)  # it will be handed out again
            return vector

        self._embed = text_cache(kept)(embed)

    def vector(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a text, read-only, shape (dim,)."""
        return self._embed(text)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row for each text, shape (n, dim): what an embedder does."""
        return np.stack([self.vector(text) for text in texts]) if texts else np.empty((0, self.dim), np.float32)
