"""Directions: the vectors of pages, computed from the vectors of their turns in an index.

They are identical to those that `hierarchy/page_entries.py` computes from the store, which takes ten times as long to
read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memoryos.infrastructure.vault.records import Vector
from memoryos.operation.hierarchy.page_entries import weighed, weight
from memoryos.operation.index.turns import Ints, TurnIndex


def directions(turns: TurnIndex, pages: Sequence[str]) -> dict[str, Vector]:
    """The direction of each of these pages whose turns are in the index."""
    rows_of = {page: own for page in pages if (own := turns.rows_of(page))}
    rows = np.array([row for some in rows_of.values() for row in some], np.int64)
    if not len(rows):
        return {}
    vectors, weights = turns.vectors.rows(rows), _weights(turns, rows)
    found, start = {}, 0
    for page, some in rows_of.items():
        end = start + len(some)
        found[page] = weighed(vectors[start:end], weights[start:end])
        start = end
    return found


def _weights(turns: TurnIndex, rows: Ints) -> list[int]:
    words, said_at = turns.lengths[rows].tolist(), turns.said_at[rows].tolist()
    speakers = turns.speakers_of(rows)
    return [weight(int(words), speaker, at) for words, speaker, at in zip(words, speakers, said_at, strict=True)]
