"""Agreement: how far a grouping of things matches known classes of them.

Purity alone rewards tiny groups (of one each, it is 1); pairwise F1 and normalised mutual information do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import comb, log


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of groups with classes; each measure is in [0, 1]."""

    purity: float  #: share of things in a group most of which are of their class
    pairwise_f1: float  #: of "these two belong together", over all pairs
    nmi: float  #: mutual information, against the mean of the two entropies
    groups: int
    classes: int
    things: int


def agreement(groups: Sequence[Hashable], classes: Sequence[Hashable]) -> Agreement | None:
    """The agreement of two groupings of the same things, in the same order; None if there are none."""
    things = len(groups)
    if not things:
        return None
    both, one, other = Counter(zip(groups, classes, strict=True)), Counter(groups), Counter(classes)
    largest: Counter[Hashable] = Counter()
    for (group, _), count in both.items():
        largest[group] = max(largest[group], count)
    return Agreement(
        purity=largest.total() / things,
        pairwise_f1=_f1(_pairs(both), _pairs(one), _pairs(other)),
        nmi=_nmi(both, one, other, things),
        groups=len(one),
        classes=len(other),
        things=things,
    )


def _pairs(counts: Counter[Hashable] | Counter[tuple[Hashable, Hashable]]) -> int:
    return sum(comb(count, 2) for count in counts.values())


def _f1(right: int, found: int, wanted: int) -> float:
    """F1 of the pairs; 1 if neither grouping has a pair."""
    return 2 * right / (found + wanted) if found + wanted else 1.0


def _nmi(
    both: Counter[tuple[Hashable, Hashable]], one: Counter[Hashable], other: Counter[Hashable], things: int
) -> float:
    shared = sum(
        count / things * log(count * things / (one[group] * other[label])) for (group, label), count in both.items()
    )
    entropies = _entropy(one, things) + _entropy(other, things)
    return 2 * shared / entropies if entropies else 1.0


def _entropy(counts: Counter[Hashable], things: int) -> float:
    return -sum(count / things * log(count / things) for count in counts.values())
