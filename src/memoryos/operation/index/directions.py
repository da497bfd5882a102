"""Directions: the vectors of pages and of their turns, computed from the vectors of passages in an index.

They are identical to those that `hierarchy/page_entries.py` computes from the store, which takes ten times as long to
read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from memoryos.infrastructure.vault.records import Vector
from memoryos.operation.hierarchy.page_entries import weighed, weight
from memoryos.operation.index.turns import Ints, TurnIndex


def directions(turns: TurnIndex, pages: Sequence[str]) -> dict[str, Vector]:
    """The direction of each of these pages whose turns are in the index."""
    rows_of, rows = _rows(turns, pages)
    if not len(rows):
        return {}
    vectors, weights = turns.vectors.rows(rows), _weights(turns, rows)
    found, start = {}, 0
    for page, some in rows_of.items():
        end = start + len(some)
        found[page] = weighed(vectors[start:end], weights[start:end])
        start = end
    return found


def turn_directions(turns: TurnIndex, pages: Sequence[str]) -> dict[str, list[Vector]]:
    """The direction of each turn of these pages whose turns are in the index."""
    rows_of, rows = _rows(turns, pages)
    if not len(rows):
        return {}
    vectors, numbers = turns.vectors.rows(rows), turns.turn_numbers(rows)
    found, start = dict[str, list[Vector]](), 0
    for page, some in rows_of.items():
        places = range(start, start + len(some))
        own = [list(turn) for _, turn in groupby(places, key=numbers.__getitem__)]
        found[page] = [
            vectors[turn[0]] if len(turn) == 1 else weighed(vectors[turn], _weights(turns, rows[turn])) for turn in own
        ]
        start += len(some)
    return found


def _rows(turns: TurnIndex, pages: Sequence[str]) -> tuple[dict[str, Sequence[int]], Ints]:
    """The rows of each page that is in the index, and all of them."""
    rows_of = {page: own for page in pages if (own := turns.rows_of(page))}
    return rows_of, np.array([row for some in rows_of.values() for row in some], np.int64)


def _weights(turns: TurnIndex, rows: Ints) -> list[int]:
    words, said_at = turns.lengths[rows].tolist(), turns.said_at[rows].tolist()
    speakers = turns.speakers_of(rows)
    return [weight(int(words), speaker, at) for words, speaker, at in zip(words, speakers, said_at, strict=True)]
