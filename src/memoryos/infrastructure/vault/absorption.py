"""Absorption: equal memories merged into one, and what comes back when that one goes.

The survivor has a link to each memory that it took in. These keep their words, versions and links; their state is
merged, so that no search finds them but one as of an earlier time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry, LinkKind
from memoryos.kinds import Kind, State, Tier

GONE = "the memory that it was merged into is gone"  # the cause of the transition


def absorbed_by(cube: MemCube, survivor: str, at: datetime) -> MemCube:
    """The memory as merged into another one."""
    version = replace(cube.version, superseded_by=survivor, superseded_at=at)
    tier = Tier.ARCHIVE if cube.kind is Kind.FACT else cube.tier  # LPM has room for so many facts
    return replace(cube, state=State.MERGED, tier=tier, version=version)


def given_back(cube: MemCube, state: State = State.ACTIVATED) -> MemCube:
    """The memory as it was before it was merged."""
    version = replace(cube.version, superseded_by=None, superseded_at=None)
    tier = Tier.LPM if cube.kind is Kind.FACT else cube.tier
    return replace(cube, state=state, tier=tier, version=version)


def orphans(reader: Reader, ids: Sequence[str]) -> list[Entry]:
    """What these memories took in, as it is without them."""
    return [Entry(given_back(cube)) for cube in absorbed_into(reader, ids) if cube.id not in set(ids)]


def absorbed_into(reader: Reader, ids: Sequence[str]) -> list[MemCube]:
    """The memories that these took in and still hold."""
    states = reader.states([link.target for link in reader.targets(ids, LinkKind.ABSORBED)])
    return list(reader.get([one for one, state in states.items() if state is State.MERGED]).values())
