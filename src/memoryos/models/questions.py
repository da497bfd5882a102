"""Questions as vectors, remembered: the same one is often asked twice, and a model is slow to answer."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memoryos.models.embedder import Embedder

KEPT = 256  # questions; some 3 MB with the longest vectors in use


class Questions:
    """Embeds questions, one of the latest 256 without the model. Threads may share one."""

    def __init__(self, embedder: Embedder) -> None:
        def embed(text: str) -> NDArray[np.float32]:
            vector = np.array(embedder.embed([text])[0], dtype=np.float32)
            vector.setflags(write=False)  # it will be handed out again
            return vector

        self._embed = lru_cache(KEPT)(embed)

    def vector(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a question, read-only, shape (dim,)."""
        return self._embed(text)
