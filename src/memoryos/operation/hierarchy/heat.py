"""Heat: how much a segment is used at a given moment.

    Heat = alpha * N_visit + beta * L_interaction + gamma * exp(-dt / mu)

(MemoryOS paper, equation 4). `dt` is the time since the segment was last accessed, by its own
history: an imported page was last accessed when it was said, not when it was imported.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from memoryos.config import Settings
from memoryos.cube import Behaviour


def recency(last_access: datetime, now: datetime, mu_seconds: float) -> float:
    """`exp(-dt / mu)`, in (0, 1]; a negative `dt` (a clock that ran backwards) counts as 0."""
    return math.exp(-max(0.0, (now - last_access).total_seconds()) / mu_seconds)


def extracted_by(settings: Settings, now: datetime) -> datetime | None:
    """The latest time at which a page that joins a segment now is extracted; None: only when the segment is hot."""
    within = settings.extract_within_seconds
    return now + timedelta(seconds=within) if within is not None else None


def is_hot(behaviour: Behaviour, now: datetime, settings: Settings) -> bool:
    """Whether the segment should be extracted into LPM: heat above tau, and pages not extracted yet."""
    return behaviour.interactions > 0 and heat(behaviour, now, settings) > settings.heat_threshold


def heat(behaviour: Behaviour, now: datetime, settings: Settings) -> float:
    """The heat of a segment with this behaviour."""
    return (
        settings.heat_visits * behaviour.visits
        + settings.heat_interactions * behaviour.interactions
        + settings.heat_recency * recency(behaviour.last_access, now, settings.recency_seconds)
    )
