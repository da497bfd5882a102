"""How strongly a trait shows, by the number of pages that support it."""

from __future__ import annotations

from memoryos.cube import Level

MEDIUM_FROM = 3  # pages; once or twice may be chance
HIGH_FROM = 5  # pages; a subject that keeps coming back
_HALF_SURE = 2.0  # pages at which the confidence of a trait is one half


def graded(pages: int) -> tuple[Level, float]:
    """The level and the confidence, in (0, 1), of a trait that `pages` pages support."""
    level = Level.HIGH if pages >= HIGH_FROM else Level.MEDIUM if pages >= MEDIUM_FROM else Level.LOW
    return level, round(pages / (pages + _HALF_SURE), 2)
