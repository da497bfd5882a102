"""Former labels: the tags, sensitivity, access and end that a memory had before changes of its labels.

They only tell what was so. Whether somebody may read the memory is decided by the labels that it has now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.cube import Lifespan, MemCube
from memoryos.kinds import AccessMode
from memoryos.label_change import LabelChange

_TAG, _SENSITIVITY, _ACCESS = "tag:", "sensitivity:", "access:"


@dataclass(frozen=True, slots=True)
class FormerLabels:
    """What a memory was labelled with, and when it was to end."""

    names: tuple[str, ...]  #: as a LabelChange names them
    ends: datetime | None

    @classmethod
    def before(cls, cube: MemCube, changes: Sequence[LabelChange]) -> FormerLabels:
        """Those before its latest changes, which are given oldest first."""
        names, ends = list(dict.fromkeys(_names(cube))), cube.governance.lifespan.expires_at
        for change in reversed(changes):
            names, ends = _before(names, change), change.ends_before
        return cls(tuple(names), ends)

    def of(self, cube: MemCube) -> MemCube:
        """The memory with these labels; of an end that is another one, no rule is known."""
        governance = cube.governance
        mode = next(iter(self._with(_ACCESS)), AccessMode.PRIVATE)
        lifespan = governance.lifespan
        if lifespan.expires_at != self.ends:
            lifespan = Lifespan(expires_at=self.ends)
        return replace(
            cube,
            descriptive=replace(cube.descriptive, tags=self._with(_TAG)),
            governance=replace(
                governance,
                sensitivity=self._with(_SENSITIVITY),
                access=replace(governance.access, mode=AccessMode(mode)),
                lifespan=lifespan,
            ),
        )

    def _with(self, prefix: str) -> tuple[str, ...]:
        return tuple(name.removeprefix(prefix) for name in self.names if name.startswith(prefix))


def _before(names: Sequence[str], change: LabelChange) -> list[str]:
    """The names before a change, each removed one where it stood, or else at the end."""
    found = [name for name in names if name not in change.added and name not in change.removed]
    places = change.places or range(len(found), len(found) + len(change.removed))
    for name, place in zip(change.removed, places, strict=True):
        found.insert(place, name)
    return found


def _names(cube: MemCube) -> list[str]:
    mode = cube.governance.access.mode
    access = [] if mode is AccessMode.PRIVATE else [_ACCESS + mode.value]
    return [
        *(_TAG + tag for tag in cube.descriptive.tags),
        *(_SENSITIVITY + one for one in cube.governance.sensitivity),
        *access,
    ]
