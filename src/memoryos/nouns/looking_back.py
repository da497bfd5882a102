"""Looking back: what callers mean by `as_of`, and memories as they were then.

It is a moment (what had been said by then, in the words that it has now), the name of a snapshot, or "stored:" and a
moment (what the store held, in the words that it had).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memoryos import arguments
from memoryos.clock import parse_end
from memoryos.cube import MemCube
from memoryos.engine import Engine
from memoryos.errors import InvalidInput, NotFound
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.snapshot import Snapshot, sequence_at, snapshots
from memoryos.operation.recall.moment import cubes_at, labelled_at
from memoryos.operation.recall.then import Since, known_then
from memoryos.scope import Scope

STORED = "stored:"  #: before a moment: as the store held it then


@dataclass(frozen=True, slots=True)
class LookBack:
    """An earlier time."""

    at: datetime
    snapshot: Snapshot | None = None  #: None: what had been said by then, whenever the store learned it

    def cubes(self, reader: Reader, cubes: Iterable[MemCube]) -> list[MemCube]:
        """Those of these memories that there were then, as they were."""
        if self.snapshot is None:
            return list(cubes_at(reader, cubes, self.at).values())
        since = Since.of(reader, self.snapshot)
        found = since.cubes(reader, cubes).values()
        return [cube for cube in found if known_then(cube, self.at)]

    def one(self, reader: Reader, cube: MemCube) -> MemCube:
        """The memory as it was then. Raises NotFound if it was not there."""
        for found in self.cubes(reader, [cube]):
            return found
        raise NotFound(f"the memory {cube.id!r} was not there at {self.at.isoformat()}, or did not hold then")

    def versions(self, reader: Reader, versions: Sequence[MemCube]) -> list[MemCube]:
        """The versions that were stored by then; the last one of each memory has the labels that it had then."""
        known = [one for one in versions if one.descriptive.updated_at <= self.at]
        now, last = _latest(versions), _latest(known)
        if self.snapshot is None:
            told = labelled_at(reader, [(now[one.id], one) for one in last.values()], self.at)
            labelled = {one.id: one for one in told}
            return [labelled[one.id] if last[one.id] is one else one for one in known]
        since = Since.of(reader, self.snapshot)
        return [since.labelled(reader, now[one.id], one) if last[one.id] is one else one for one in known]


def _latest(versions: Iterable[MemCube]) -> dict[str, MemCube]:
    return {one.id: one for one in versions}


def searched_then(
    engine: Engine, scope: Scope, as_of: datetime | str | None
) -> tuple[datetime | None, Snapshot | None]:
    """The moment and the snapshot of a search, for its filters. Raises InvalidInput, as `looked_back` does."""
    then = looked_back(engine, scope, as_of)
    return (then.at, then.snapshot) if then else (None, None)


def looked_back(engine: Engine, scope: Scope, as_of: datetime | str | None) -> LookBack | None:
    """What `as_of` means; None without it. Raises InvalidInput if it is neither a moment nor a snapshot."""
    if as_of is None:
        return None
    if isinstance(as_of, str):
        with engine.vault.read(scope.owner) as reader:
            known = {one.name: one for one in snapshots(reader, engine.clock())}
        for name in engine.privacy(scope).names(as_of):
            if one := known.get(name):
                return LookBack(one.at, one)
        if as_of.startswith(STORED):
            return _as_stored(engine, scope, as_of)
    try:
        moment = arguments.last_moment("as_of", as_of)
    except InvalidInput as error:
        raise InvalidInput("as_of", error.problem, f"{error.fix}, or name a snapshot of this owner") from None
    return None if moment is None else LookBack(moment)


def last_event(engine: Engine, scope: Scope, moment: datetime | None) -> int:
    """The number of the last event up to a moment (None: now), in the owner's memory and in a shared persona."""
    found = []
    for home in engine.corrector(scope).homes:
        with engine.vault.read(home) as reader:
            found.append(reader.sequence() if moment is None else sequence_at(reader, moment))
    return max(found)


def _as_stored(engine: Engine, scope: Scope, as_of: str) -> LookBack:
    """The memory as the store held it at a moment: a snapshot without a name."""
    now, told = engine.clock(), as_of.removeprefix(STORED)
    moment = min(parse_end("as_of", told), now)
    return LookBack(moment, Snapshot(as_of, moment, last_event(engine, scope, moment), "", now))
