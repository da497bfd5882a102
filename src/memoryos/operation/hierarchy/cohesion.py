"""Cohesion: how well pages hang together, judged by their directions alone.

A page's fit is its cosine with the mean of the *other* pages of its segment. Leaving the page itself out keeps small
segments from scoring high. Two arrangements are compared page by page, by how far the mean gain exceeds its standard
error. No absolute cosine is used, so embedders with high and with low cosines are judged alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CLEAR = 3.0  # standard errors of the mean gain: what chance does to one comparison in a thousand
LEAST_GAIN = 1e-3  # in cosines, over all pages: what is less may be rounding
SAME = 1e-9  # differences up to here are rounding

_TURNS = 30  # of the 2-means, at most; it settles in five to ten


def fits(units: Floats) -> Floats:
    """Each row's cosine with the mean of the others, shape (n,); n is at least 2."""
    others = units.sum(axis=0) - units
    lengths = np.linalg.norm(others, axis=1)
    return np.asarray(np.vecdot(others, units) / np.maximum(lengths, SAME))


def halves(units: Floats) -> Flags | None:
    """Which rows form the first of two groups by 2-means on the sphere, shape (n,); None if there is only one group.

    It starts from the sides of the axis along which the rows differ most, so that the same rows give the same groups.
    """
    side = _widest(units - units.mean(axis=0)) > 0
    for _ in range(_TURNS):
        if side.all() or not side.any():
            return None
        here, there = (_unit(units[half].sum(axis=0)) for half in (side, ~side))
        closer = np.vecdot(units, here) >= np.vecdot(units, there)
        if np.array_equal(closer, side):
            break
        side = closer
    return None if side.all() or not side.any() else side


def unit_rows(vectors: Sequence[NDArray[np.floating[Any]]]) -> Floats:
    """The vectors as rows of unit length, shape (n, dim); a zero vector stays zero."""
    rows = np.stack(vectors).astype(np.float64)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), SAME))


def is_clear(gains: Floats) -> bool:
    """Whether pages fit better by more than chance: the mean gain against its standard error."""
    if len(gains) < 2 or gains.sum() <= LEAST_GAIN:
        return False
    return bool(gains.mean() > CLEAR * gains.std(ddof=1) / np.sqrt(len(gains)))


def _widest(centred: Floats) -> Floats:
    """Where each row lies on the first principal axis, shape (n,); by power iteration from the row farthest out."""
    lengths = np.linalg.norm(centred, axis=1)
    axis = centred[int(np.argmax(lengths))]
    columns = np.ascontiguousarray(centred.T)
    for _ in range(_TURNS):
        axis = _unit(np.vecdot(columns, np.vecdot(centred, axis)))
    return np.asarray(np.vecdot(centred, axis))


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(float(np.linalg.norm(vector)), SAME))
