"""Selection: which cubes of one kind are listed or counted, by their columns and their content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from memoryos.cube import MemCube, Page
from memoryos.filter import EVERYTHING, Filter
from memoryos.kinds import Kind, Role, Subject, Tier


@dataclass(frozen=True, slots=True)
class Selection:
    """The conditions; proposals, what was withdrawn and what has expired by `now` are left out."""

    kind: Kind
    now: datetime
    tiers: tuple[Tier, ...] = ()
    subject: Subject | None = None
    session: str | None = None
    since: datetime | None = None  #: nothing that happened before
    until: datetime | None = None  #: nor after
    speaker: str | None = None  #: of one of a page's turns
    role: Role | None = None  #: the same
    segment: str | None = None  #: id of the segment that has the page
    filter: Filter = EVERYTHING  #: which labels it must have, and which not
    looks_back: bool = False  #: whether what was withdrawn is selected, too: an earlier time may show it

    @property
    def is_told_by_columns(self) -> bool:
        """Whether the store can count without reading the cubes."""
        return self.speaker is None and self.role is None

    def admits(self, cube: MemCube) -> bool:
        """Whether the cube meets the conditions that the columns cannot check."""
        if self.speaker is None and self.role is None:
            return True
        turns = cube.payload.turns if isinstance(cube.payload, Page) else ()
        return any(self.speaker in (None, turn.speaker) and self.role in (None, turn.role) for turn in turns)


class Positioned(NamedTuple):
    """A cube, and its place in the order of insertion."""

    position: int
    cube: MemCube
