"""Rivals: the facts that exclude each other, as a plan leaves them."""

from __future__ import annotations

from datetime import datetime

from memoryos.cube import MemCube
from memoryos.operation.hierarchy.filling import Slot
from memoryos.operation.hierarchy.lesson import Identity, identities, identity
from memoryos.operation.hierarchy.succession import Succession, mentions_of, value_in

Moment = tuple[datetime, str]


class Chain:
    """Facts that exclude each other; it knows them by their words, and which hold last."""

    def __init__(self, *cubes: MemCube) -> None:
        self.cubes: dict[str, MemCube] = {}
        self._names: dict[Identity, dict[str, None]] = {}  # of each wording
        self._last: tuple[str, ...] = ()  # once they are in order
        self._latest: Moment | None = None  # of all that was said
        self.put(*cubes)

    def __len__(self) -> int:
        return len(self.cubes)

    def __contains__(self, cube_id: str) -> bool:
        return cube_id in self.cubes

    @property
    def last(self) -> list[MemCube]:
        """The facts of the last spell."""
        return [self.cubes[cube_id] for cube_id in self._last]

    def put(self, *cubes: MemCube) -> None:
        """Take in facts, or what they are now."""
        for cube in cubes:
            self.cubes[cube.id] = cube
            for name in identities(cube.payload):
                self._names.setdefault(name, {})[cube.id] = None
            said = max((mention.at, mention.source) for mention in mentions_of(cube))
            self._latest = max(self._latest, said) if self._latest else said

    def end_with(self, after: Succession) -> None:
        """Take in the order of all facts, or of the last ones and what came after them."""
        self.put(*after.cubes)
        self._last = after.last

    def called(self, name: Identity) -> MemCube | None:
        """The first fact that is known in these words."""
        return next((self.cubes[cube_id] for cube_id in self._names.get(name, ())), None)

    def of(self, name: Identity) -> list[MemCube]:
        """The facts in these words."""
        return [cube for one in self._names.get(name, ()) if identity((cube := self.cubes[one]).payload) == name]

    def is_before(self, cube: MemCube, slot: Slot | None) -> bool:
        """Whether the last spell is all that matters to where the fact belongs.

        So it is when all was said before it. What a denial denies stands in the spell before, or anywhere.
        """
        said = min((mention.at, mention.source) for mention in mentions_of(cube))
        if not self._last or self._latest is None or self._latest > said:
            return False
        return not any(is_denied for _, is_denied in (value_in(slot, one.text) for one in (cube, *self.last)))
