"""Worth: of which turns a reader should know more when not all can be told."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from memoryos.config import Settings
from memoryos.operation.hierarchy.heat import heat
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import Floats, Ints
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, Asked, scored
from memoryos.operation.recall.hit import Strategy

_SECOND = 10**6  # microseconds


def by_use(resident: Resident, rows: Ints, settings: Settings, now: datetime) -> Floats:
    """How recent the turns are, beside the latest of them, and how hot their segments, shape (n,).

    What is not in MTM has no heat: it was evicted for that, or is so new that it is worth enough.
    """
    index = resident.turns
    age = (index.said_at[rows].max(initial=0) - index.said_at[rows]) / _SECOND
    heats = np.zeros(len(index.facets.segment_names), np.float64)
    for number, name in enumerate(index.facets.segment_names):
        cube = resident.held(name) if name else None
        if cube:
            heats[number] = heat(cube.behaviour, now, settings)
    worth = np.exp(-age / settings.recency_seconds) * (1 + np.log1p(heats[index.facets.segments[rows]]))
    return np.asarray(worth, np.float32)


def by_question(resident: Resident, rows: Ints, asked: Asked) -> Floats:
    """One over the rank of each turn for the question, shape (n,)."""
    index = resident.turns
    scores = scored(resident, asked, Strategy.HYBRID, DEFAULT_WEIGHTS).total[rows]
    best = np.lexsort((-index.order[rows], -scores))
    worth = np.empty(len(rows), np.float32)
    worth[best] = 1 / np.arange(1, len(rows) + 1, dtype=np.float32)
    return worth
