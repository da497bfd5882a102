"""Withdrawal: what was learned from words that were corrected since.

It is believed no more, but snapshots from before show it. So it keeps its words, versions and pages, and goes with any
of these pages. It has no place among the facts that exclude each other.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.kinds import State, Tier
from memoryos.lifecycle import CubeMark


def withdrawn(cube: MemCube, at: datetime) -> MemCube:
    """The memory as it is when its words are corrected."""
    version = replace(cube.version, superseded_at=at)
    return replace(cube, state=State.MERGED, tier=Tier.ARCHIVE, mark=CubeMark.WITHDRAWN, version=version)


def can_be_withdrawn(cube: MemCube) -> bool:
    """Whether an earlier time shows it: what was only proposed, or has expired, is never shown again."""
    return not cube.is_proposal and cube.state not in (State.EXPIRED, State.FROZEN)
