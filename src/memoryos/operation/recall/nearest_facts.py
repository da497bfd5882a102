"""The facts nearest to a question: those at hand in LPM, and those that had to make room for newer ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.records import Entry
from memoryos.kinds import Tier
from memoryos.operation.knowledge.filling import Slot
from memoryos.operation.knowledge.slot import filled


class Outdated:
    """Tells which archived facts the facts at hand repeat or replace: nobody compared them when they came."""

    def __init__(self, at_hand: Sequence[MemCube]) -> None:
        self._at_hand = at_hand

    def holds(self, cube: MemCube) -> bool:
        """Whether this is such a fact."""
        if cube.tier is not Tier.ARCHIVE:
            return False
        return cube.text.casefold() in self._texts or bool(self._slots.intersection(_slots([cube])))

    @cached_property
    def _texts(self) -> set[str]:
        return {cube.text.casefold() for cube in self._at_hand}

    @cached_property
    def _slots(self) -> set[Slot]:
        return set(_slots(self._at_hand))


def outdated(facts: Sequence[Entry]) -> Outdated:
    """What the facts of LPM among these say of the archived ones."""
    return Outdated([entry.cube for entry in facts if entry.cube.tier is Tier.LPM])


def _slots(cubes: Sequence[MemCube]) -> Iterator[Slot]:
    found = (filled(cube.text, cube.descriptive.event_at) for cube in cubes)
    return (one.slot for one in found if one)
