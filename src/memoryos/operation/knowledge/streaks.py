"""Streaks: what was said of the slots of a family, as mentions of one value that follow each other in a slot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos.cube import Mention
from memoryos.operation.knowledge.filling import NO, Filling, Slot
from memoryos.operation.knowledge.lesson import Identity
from memoryos.operation.knowledge.slot import filling

_ANY = Slot("", "")  # that of a fact which rules do not know to exclude the others


@dataclass(frozen=True, slots=True)
class Told:
    """One time that one of the facts was said."""

    mention: Mention
    key: Identity  #: of the fact
    found: Filling
    order: int  #: among what one page says

    @property
    def moment(self) -> tuple[datetime, str, int]:
        """Its place in the succession: what is said later in one breath comes after."""
        return self.mention.at, self.mention.source, self.order


@dataclass
class Streak:
    """Mentions of one value in a slot, or what ends such a streak though it fills another slot."""

    value: str
    is_denied: bool
    told: list[Told]
    is_foreign: bool = False

    @property
    def holds(self) -> bool:
        """Whether it leaves something to end."""
        return not self.is_denied and self.value != NO and not self.is_foreign


def filling_in(family: Slot | None, text: str) -> Filling:
    """What a fact fills of the slots of a family; its words, when it is known to exclude the others by other means."""
    found = filling(text)
    return found if found and found.slot.family == family else Filling(_ANY, text.casefold())


def streaks(told: Iterable[Told]) -> tuple[list[list[Streak]], list[Told]]:
    """The streaks of each slot, and apart from them what denies something that was not so anyhow."""
    ordered = sorted(told, key=lambda one: one.moment)
    slots = list(dict.fromkeys(one.found.slot for one in ordered if one.found.slot != _ANY)) or [_ANY]
    asides: list[Told] = []
    return [_of(slot, slots[0], ordered, asides) for slot in slots], asides


def _of(slot: Slot, first: Slot, ordered: Sequence[Told], asides: list[Told]) -> list[Streak]:
    """The streaks of one slot; what fills none that is known stands with the first."""
    found: list[Streak] = []
    for one in ordered:
        mine = first if one.found.slot == _ANY else one.found.slot
        before = found[-1] if found else Streak("", is_denied=True, told=[], is_foreign=True)
        if mine != slot:
            if before.holds and one.found.ends_other(before.told[-1].found):
                found.append(Streak("", is_denied=True, told=[one], is_foreign=True))
        elif one.found.is_denied and (before.is_foreign or not one.found.denies(before.value)):
            asides.append(one)
        elif not before.is_foreign and (before.value, before.is_denied) == (one.found.value, one.found.is_denied):
            before.told.append(one)
        else:
            found.append(Streak(one.found.value, one.found.is_denied, [one]))
    return found
