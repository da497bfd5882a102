"""How strongly a trait shows, by the number of pages that support it."""

from __future__ import annotations

from memoryos.kinds import Level

MEDIUM_FROM = 3  # pages; once or twice may be chance
HIGH_FROM = 5  # pages; a subject that keeps coming back
_HALF_SURE = 2.0  # pages at which the confidence of a trait is one half


def graded(pages: int, against: int = 0) -> tuple[Level, float]:
    """The level and the confidence, in [0, 1), of a trait that `pages` pages support and `against` contradict.

    A page against takes back one that supports; the trait itself stays, however many there are.
    """
    left = max(0, pages - against)
    level = Level.HIGH if left >= HIGH_FROM else Level.MEDIUM if left >= MEDIUM_FROM else Level.LOW
    return level, round(left / (pages + against + _HALF_SURE), 2)
