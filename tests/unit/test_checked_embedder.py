"""The vectors of a caller's own embedder are checked before anything is stored or searched."""

from __future__ import annotations

import numpy as np
import pytest

import memoryos
from memoryos.errors import ModelError
from memoryos.models.hashing import Hashing


class Faulty(Hashing):
    """An embedder whose vectors somebody changes."""

    change = staticmethod(lambda vectors: vectors)

    def embed(self, texts):
        return self.change(super().embed(texts))


@pytest.mark.parametrize(
    "change",
    [
        lambda vectors: vectors * np.nan,
        lambda vectors: vectors + np.inf,
        lambda vectors: vectors[:0],
        lambda vectors: vectors[:, :5],
        lambda vectors: vectors[0],
        lambda _: None,
        lambda _: [["a"]],
    ],
    ids=["nan", "infinite", "no rows", "short rows", "one row", "nothing", "text"],
)
def test_wrong_vectors_are_refused_and_nothing_is_stored(tmp_path, change):
    embedder = Faulty()
    with memoryos.open(tmp_path / "m.db", user="ann", embedder=embedder) as memory:
        memory.add("I keep bees.")
        embedder.change = change
        with pytest.raises(ModelError, match="embedder"):
            memory.add("I grow tulips.")
        with pytest.raises(ModelError, match="embedder"):
            memory.search("Which flowers?")
        embedder.change = Faulty.change
        assert [page.text for page in memory.pages.list()] == ["user: I keep bees."]
        assert len(memory.search("bees").hits) == 1
