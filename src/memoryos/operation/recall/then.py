"""Then: a memory as the store held it at a moment of its log, read from versions and events.

`moment` is about the world: what had been said by then. This is about the store: what it had been told by then, in the
words that it had then. What was deleted since is gone from both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry, Event, Operation, Passage, StoredPassage
from memoryos.infrastructure.vault.snapshot import Snapshot
from memoryos.kinds import Kind, State, Tier
from memoryos.models.embedder import Embedder
from memoryos.operation.hierarchy.page_entries import page_entries
from memoryos.operation.index.turns import TurnIndex
from memoryos.operation.recall.former_labels import FormerLabels
from memoryos.operation.recall.moment import first_said


@dataclass(frozen=True, slots=True)
class Since:
    """What happened to an owner's memories since a snapshot."""

    snapshot: Snapshot
    added: frozenset[str]
    revised: dict[str, int]  #: the lowest version that was stored since
    changed: frozenset[str]  #: in any other way
    relabelled: Mapping[str, int]  #: how often the labels changed

    @classmethod
    def of(cls, reader: Reader, snapshot: Snapshot) -> Since:
        """Read the log from the snapshot on."""
        added, revised, changed, relabelled = set[str](), dict[str, int](), set[str](), Counter[str]()
        after = snapshot.sequence
        while events := reader.whole.events(after=after):
            for event in events:
                _take_in(event, added, revised, changed, relabelled)
            after = events[-1].sequence
        return cls(snapshot, frozenset(added), revised, frozenset(changed), relabelled)

    def cube(self, reader: Reader, cube: MemCube) -> MemCube | None:
        """The memory as it was; None if the store did not have it."""
        if cube.id in self.added:
            return None
        now = cube
        former = self._version(reader, cube) if cube.id in self.revised else None
        if former is None and cube.id in self.revised and cube.kind is not Kind.SEGMENT:
            return None
        if former is not None:  # a segment loses its versions with a page that leaves it
            cube = replace(former, tier=cube.tier, state=cube.state, governance=cube.governance)
        if cube.id in self.changed or cube.id in self.revised:
            cube = self._unchanged(reader, cube)
        if cube.state in (State.EXPIRED, State.MERGED):
            return None
        if cube.kind in (Kind.FACT, Kind.PROFILE) and cube.is_over(self.snapshot.at):
            return None
        cube = self.labelled(reader, now, cube)
        return None if cube.has_expired(self.snapshot.at) else cube

    def labelled(self, reader: Reader, now: MemCube, former: MemCube) -> MemCube:
        """The memory as it was, with the labels and the end that it had; `now` has those that it has now."""
        if not (count := self.relabelled.get(now.id)):
            return former
        return FormerLabels.before(now, reader.label_changes([now.id]).get(now.id, [])[-count:]).of(former)

    def cubes(self, reader: Reader, cubes: Iterable[MemCube]) -> dict[str, MemCube]:
        """Those of the memories that the store had, as they were."""
        then = {cube.id: self.cube(reader, cube) for cube in cubes}
        return {cube_id: cube for cube_id, cube in then.items() if cube}

    def turns(self, reader: Reader, index: TurnIndex, embedder: Embedder) -> TurnIndex:
        """The turns that could be found then, in the words that they had."""
        known = {index.place(row).page for row in range(len(index)) if index.alive[row]}
        if not known & (self.added | self.revised.keys() | self.changed):
            return index
        pages = reader.whole.get(known & (self.revised.keys() | self.changed))
        former = self.cubes(reader.whole, pages.values())
        gone = (known & self.added) | (pages.keys() - former.keys())
        again = TurnIndex(embedder.dim)
        again.put(list(_passages(reader, former, gone, self.revised, embedder)))
        return again

    def _version(self, reader: Reader, cube: MemCube) -> MemCube | None:
        """The last version before the first one that was stored since."""
        first, at = self.revised[cube.id], self.snapshot.at
        earlier = [one for one in reader.history(cube.id) if one.version.number < first]
        known = [one for one in earlier if one.descriptive.updated_at <= at]
        return next(reversed(known or earlier[:1]), None)

    def _unchanged(self, reader: Reader, cube: MemCube) -> MemCube:
        """The memory with the state that it had, and without what came in its place since."""
        at = self.snapshot.at
        later = [one for one in reader.transitions(cube.id) if one.at > at]
        state = later[0].before if later else cube.state
        version, known = cube.version, cube.descriptive
        if cube.is_withdrawn or (version.superseded_at is not None and version.superseded_at > at):
            if version.superseded_by is not None:
                known = replace(known, valid_to=None)
            version = replace(version, superseded_by=None, superseded_at=None)
        tier, mark = cube.tier, None if cube.is_withdrawn else cube.mark
        if (cube.kind is Kind.FACT or cube.is_withdrawn) and state is not State.MERGED:
            tier = Tier.LPM
        return replace(cube, state=state, tier=tier, mark=mark, version=version, descriptive=known)


def known_then(cube: MemCube, moment: datetime) -> bool:
    """Whether it had been said by then."""
    return cube.kind is Kind.PAGE or first_said(cube) <= moment


def _take_in(
    event: Event, added: set[str], revised: dict[str, int], changed: set[str], relabelled: Counter[str]
) -> None:
    if event.operation is Operation.ADD:
        added.add(event.cube_id)
    elif event.operation is Operation.REVISE:
        revised.setdefault(event.cube_id, event.version)
    elif event.operation in (Operation.TRANSITION, Operation.REFRESH):
        changed.add(event.cube_id)
    elif event.operation is Operation.LABEL:
        relabelled[event.cube_id] += 1


def _passages(
    reader: Reader, former: dict[str, MemCube], gone: set[str], revised: dict[str, int], embedder: Embedder
) -> Iterable[StoredPassage]:
    """The passages of all pages that are not gone, with the former words of those that were revised."""
    again = {cube_id: cube for cube_id, cube in former.items() if cube_id in revised}
    entries = {entry.cube.id: entry for entry in page_entries(list(again.values()), embedder)}
    done = set[str]()
    for passage in reader.whole.passages():
        if passage.page in gone or not passage.part:
            continue
        cube = former.get(passage.page)
        tier = passage.tier if cube is None else _tier(cube)
        if passage.page not in entries:
            yield passage._replace(tier=tier)
        elif passage.page not in done:
            done.add(passage.page)
            yield from _restored(passage._replace(tier=tier), entries[passage.page])


def _restored(like: StoredPassage, entry: Entry) -> Iterable[StoredPassage]:
    found: Sequence[Passage] = entry.passages or ()
    for part, passage in enumerate(found, 1):
        yield like._replace(part=part, checksum=None, **passage.columns)


def _tier(cube: MemCube) -> str:
    return (Tier.ARCHIVE if cube.state is State.ARCHIVED else cube.tier).value
