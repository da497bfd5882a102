"""Agreement of two ways to group the same things: pure functions on two labels of each thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import comb

Labels = Sequence[tuple[Hashable, Hashable]]  # of each thing: the group that was found, the group it is of


def pair_f1(labels: Labels) -> float:
    """F1 over all pairs of things: to be in one group that was found, and to be in one of the real ones.

    0 when no two things that belong together are together, 1 when there is no pair to judge.
    """
    found, real, both = (
        (_pairs(Counter(keys)) for keys in (*zip(*labels, strict=True), labels)) if labels else (0, 0, 0)
    )
    return 2 * both / (found + real) if found + real else 1.0


def purity(labels: Labels) -> float:
    """The share of things that are of the most frequent real group of the group they were found in."""
    largest: dict[Hashable, int] = {}
    for (found, _), count in Counter(labels).items():
        largest[found] = max(count, largest.get(found, 0))
    return sum(largest.values()) / len(labels) if labels else 1.0


def _pairs(sizes: Counter[Hashable]) -> int:
    return sum(comb(size, 2) for size in sizes.values())
