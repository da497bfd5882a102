"""The embedder of a caller, whose vectors are checked before anything uses them.

One vector with NaN would make each later search of its scope find nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memoryos.errors import ModelError
from memoryos.models.embedder import Embedder


class CheckedEmbedder:
    """Raises ModelError if an embedder returns anything but one finite row for each text."""

    def __init__(self, embedder: Embedder) -> None:
        self.name = embedder.name
        self.dim = embedder.dim
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row for each text, shape (len(texts), dim). Raises ModelError."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        wanted = (len(texts), self.dim)
        try:
            vectors = np.asarray(self._embedder.embed(texts), dtype=np.float32)
        except (TypeError, ValueError):
            raise ModelError(f"the embedder {self.name!r} returned no array of numbers of shape {wanted}") from None
        if vectors.shape != wanted:
            raise ModelError(f"the embedder {self.name!r} returned an array of shape {vectors.shape}, not {wanted}")
        if not np.isfinite(vectors).all():
            raise ModelError(f"the embedder {self.name!r} returned a vector with NaN or infinity; nothing was stored")
        return vectors
