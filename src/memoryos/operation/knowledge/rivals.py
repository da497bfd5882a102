"""Rivals: the facts that exclude each other, as a plan leaves them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from memoryos.cube import MemCube, Mention
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Link, LinkKind
from memoryos.operation.knowledge.filling import Filling, Slot
from memoryos.operation.knowledge.lesson import Identity, identities, identity
from memoryos.operation.knowledge.slot import filling
from memoryos.operation.knowledge.streaks import filling_in
from memoryos.operation.knowledge.succession import Spell, Succession, mentions_of

Moment = tuple[datetime, str]
_SEVERAL = 2  # slots


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Some spells that follow each other, out of many."""

    place: slice  #: among all of them
    cubes: Sequence[MemCube]  #: in the order in which they were made
    former: str | None  #: what the first of them superseded
    heir: MemCube | None  #: what supersedes the last of them


class Chain:
    """Facts that exclude each other; it knows them by their words and, once they are in order, by their time."""

    def __init__(self, *cubes: MemCube) -> None:
        self.cubes: dict[str, MemCube] = {}
        self._names: dict[Identity, dict[str, None]] = {}  # of each wording
        self._former: dict[str, set[str]] = {}  # what each superseded
        self._spells: list[Spell] = []  # once they are in order
        self._denies = False  # whether one of them says that something is not so
        self._slots: set[Slot] = set()  # that they fill
        self._latest: Moment | None = None  # of all that was said
        self.put(*cubes)

    def __len__(self) -> int:
        return len(self.cubes)

    def __contains__(self, cube_id: str) -> bool:
        return cube_id in self.cubes

    def put(self, *cubes: MemCube) -> None:
        """Take in facts, or what they are now."""
        for cube in cubes:
            self._follow(self.cubes.get(cube.id), cube)
            self.cubes[cube.id] = cube
            for name in identities(cube.payload):
                self._names.setdefault(name, {})[cube.id] = None
            found = filling(cube.text)
            self._denies |= bool(found and found.is_denied)
            self._slots |= {found.slot} if found else set()
            said = max(map(_moment, mentions_of(cube)))
            self._latest = max(self._latest, said) if self._latest else said

    def put_in_order(self, after: Succession, place: slice = slice(None)) -> None:
        """Take in the order of all facts, or of those that were in one place among them."""
        self.put(*after.cubes)
        self._spells[place] = after.spells

    def close(self, gone: set[str], changed: Sequence[MemCube]) -> Neighbours | None:
        """Let go of facts, and take in what others are now: the spells around them; None if any may have to change."""
        touched = gone.union(cube.id for cube in changed)
        places = [index for index, spell in enumerate(self._spells) if not touched.isdisjoint(spell.cubes)]
        if not places or self._denies or len(self._slots) >= _SEVERAL:
            return None
        place = slice(max(0, places[0] - 1), places[-1] + 2)
        around = [one for spell in self._spells[place] for one in spell.cubes]
        former = self.cubes[around[0]].version.supersedes
        heir = next((self.cubes[spell.cubes[0]] for spell in self._spells[place.stop : place.stop + 1]), None)
        self.put(*changed)
        for one in gone:
            self._forget(self.cubes.pop(one))
        left = sorted(one for one in around if one in self.cubes)
        return Neighbours(place, [self.cubes[one] for one in left], former, heir)

    def former_of(self, ids: Iterable[str]) -> set[Link]:
        """The links from these facts to those that they superseded."""
        return {Link(one, LinkKind.SUPERSEDES, former) for one in ids for former in self._former.get(one, ())}

    def called(self, name: Identity) -> MemCube | None:
        """The first fact that is known in these words."""
        return next((self.cubes[cube_id] for cube_id in self._names.get(name, ())), None)

    def of(self, name: Identity) -> list[MemCube]:
        """The facts in these words."""
        return [cube for one in self._names.get(name, ()) if identity((cube := self.cubes[one]).payload) == name]

    def concerns(self, found: Filling) -> bool:
        """Whether one of them fills the same slot, or one that this ends."""
        return any(slot == found.slot or slot.relation in found.ends for slot in self._slots)

    @property
    def family(self) -> Slot | None:
        """The family of the slots that they fill."""
        return next((slot.family for slot in self._slots), None)

    @property
    def last(self) -> list[MemCube]:
        """The facts of the last spell."""
        return [self.cubes[cube_id] for spell in self._spells[-1:] for cube_id in spell.cubes]

    def parts(self, cube: MemCube, family: Slot | None) -> list[tuple[Mention, ...]]:
        """The times that a fact was said, those together that belong into one place among the spells."""
        if not self._is_simple(cube) or self._denies or filling_in(family, cube.text).is_denied:
            return [mentions_of(cube)]
        said = sorted(mentions_of(cube), key=_moment)
        return [tuple(some) for _, some in groupby(said, key=lambda one: self._place(_moment(one)))]

    def around(self, cube: MemCube, family: Slot | None) -> Neighbours | None:
        """The spells that may change when this fact comes to them; None when that may be any of them.

        A spell lasts until the next begins, so a fact matters to those that it was said in, and to the one after.
        What a denial denies stands in the spell before, or anywhere.
        """
        if not self._is_simple(cube):
            return None
        said = [_moment(mention) for mention in mentions_of(cube)]
        first, last = self._place(min(said)), self._place(max(said))
        place = slice(max(0, first - 1), last + 1)
        cubes = [self.cubes[cube_id] for spell in self._spells[place] for cube_id in spell.cubes]
        is_latest = self._latest is not None and self._latest <= min(said)
        denies = (self._denies and not is_latest) or any(
            filling_in(family, one.text).is_denied for one in (cube, *cubes)
        )
        if denies or not cubes:
            return None
        former = self.cubes[self._spells[place][0].cubes[0]].version.supersedes
        heir = next((self.cubes[spell.cubes[0]] for spell in self._spells[last + 1 : last + 2]), None)
        return Neighbours(place, sorted(cubes, key=lambda one: one.id), former, heir)

    def _follow(self, before: MemCube | None, cube: MemCube) -> None:
        """Note which fact superseded it now."""
        if before and before.version.superseded_by:
            self._former[before.version.superseded_by].discard(cube.id)
        if cube.version.superseded_by:
            self._former.setdefault(cube.version.superseded_by, set()).add(cube.id)

    def _forget(self, cube: MemCube) -> None:
        for name in identities(cube.payload):
            self._names.get(name, {}).pop(cube.id, None)
        if cube.version.superseded_by:
            self._former[cube.version.superseded_by].discard(cube.id)

    def _is_simple(self, cube: MemCube) -> bool:
        """Whether all are in one order with this one: they fill one slot, and their order is known."""
        found = filling(cube.text)
        return bool(self._spells) and len(self._slots | ({found.slot} if found else set())) < _SEVERAL

    def _place(self, said: Moment) -> int:
        """How many spells began before that, or with it."""
        return bisect_right(self._spells, said, key=lambda spell: spell.since)


def _moment(mention: Mention) -> Moment:
    return mention.at, mention.source


def relatives(reader: Reader, cubes: Iterable[MemCube]) -> list[list[MemCube]]:
    """The facts that exclude these and each other, these among them: those of each succession together."""
    groups: list[list[MemCube]] = []
    grouped: set[str] = set()
    for cube in cubes:
        if cube.id not in grouped:
            found = reader.successions([cube.id])
            groups.append(list(reader.get(sorted(found)).values()))
            grouped |= found
    return groups


def is_beside_hidden(reader: Reader, cube: MemCube) -> bool:
    """Whether a fact follows, or is followed by, one that the caller may not read and change.

    The order of such facts stays as it is, whatever the caller states.
    """
    if reader.whole is reader or not _neighbours(cube):
        return False
    known = {cube.id: cube, **reader.get(reader.successions([cube.id]))}
    seen, left = {cube.id}, _neighbours(cube)
    while left:
        if reader.whole.kinds(left - known.keys()):
            return True
        seen |= left
        left = {one for name in left & known.keys() for one in _neighbours(known[name])} - seen
    return False


def _neighbours(cube: MemCube) -> set[str]:
    return {one for one in (cube.version.supersedes, cube.version.superseded_by) if one}
