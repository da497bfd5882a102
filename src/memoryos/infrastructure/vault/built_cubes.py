"""Built cubes: what rests on a memory goes in the transaction that removes it, or changes what it rests on.

A KV state holds the words of its sources as the prompt told them, so it goes when one gets another version or end, or
no longer says what it said. An adapter, and what it told, goes in the latter case; a job trains the adapter again. So
nothing with an erased or outdated memory can be used, whatever becomes of this process.

What is frozen or on hold by itself does not go. The removal of its source is refused, if a caller asks for that. What
is stated or learned is not: the state or adapter stays, and is not used, because whoever asks for it compares it with
its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, replace
from datetime import timedelta

from memoryos.caller import is_background
from memoryos.cube import Fact, MemCube
from memoryos.filter import labels_of
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import MADE_OF_MEMORIES, Kind, Origin, State

TRAIN_AFTER = timedelta(minutes=1)  # a change: others may follow
OVER = (State.EXPIRED, State.MERGED)  # of a memory that nothing may be built from
_NONE: Set[str] = frozenset()
_CHANGES = (Operation.REVISE, Operation.REFRESH, Operation.MOVE, Operation.PROMOTE)  # that may change what a cube says


@dataclass(frozen=True, slots=True)
class Built:
    """What goes with memories that it was built from."""

    states: Sequence[str] = ()  #: ids of KV states
    learned: Sequence[MemCube] = ()  #: adapters, and facts that they told
    is_removal: bool = False  #: whether the sources go, which what is frozen or on hold prevents

    @property
    def has_adapter(self) -> bool:
        """Whether an adapter goes."""
        return any(cube.kind is Kind.PARAMETER for cube in self.learned)

    def going(self, reader: Reader) -> list[str]:
        """The ids of what is to go: without what stays although nobody is refused for it."""
        ids = [*self.states, *(cube.id for cube in self.learned)]
        is_refused = self.is_removal and not is_background()
        staying = _NONE if is_refused or not ids else undeletable(reader, ids)
        return [one for one in ids if one not in staying]


def undeletable(reader: Reader, ids: Sequence[str]) -> Set[str]:
    """Those of these memories that a delete refuses: they are frozen or on hold."""
    frozen = {one for one, state in reader.states(ids).items() if state is State.FROZEN}
    return frozen.union(reader.retention.undeletable(ids))


def replace_built(writer: Writer, ids: Sequence[str]) -> None:
    """Delete what is replaced by something built anew; what is frozen or on hold stays beside that."""
    staying = undeletable(writer, ids)
    writer.delete([one for one in ids if one not in staying])


def built_on(reader: Reader, ids: Collection[str]) -> set[str]:
    """The ids of the KV states and adapters that were built from these memories."""
    links = reader.sources(ids, LinkKind.COMPUTED_FROM)
    kinds = reader.kinds({link.source for link in links}) if links else {}
    return {one for one, kind in kinds.items() if kind in MADE_OF_MEMORIES}


def built_from(reader: Reader, ids: Sequence[str]) -> Built:
    """What goes if these memories do, and is not among them."""
    removed = set(ids)
    found = _built(reader, ids, lambda used: (used, used), kept=removed)
    return replace(found, is_removal=True)


def outdated(
    reader: Reader,
    entries: Sequence[Entry],
    operation: Operation,
    over: Sequence[str],
    relabelled: Collection[str] = (),
) -> Built:
    """What goes if these memories become so; those that are `over` end.

    Others may read those that are `relabelled`, or until another time; so it is with what was learned from them, and
    with the topics that they are in.
    """
    wanted = [entry.cube.id for entry in entries] if operation in _CHANGES else over
    resting = _resting_on(reader, relabelled) if relabelled else _NONE

    def changed(used: Set[str]) -> tuple[Set[str], Set[str]]:
        told, said = _changed(reader, entries, used)
        return told | (resting & used), said | (resting & used)

    return _built(reader, [*wanted, *resting], changed)


def _resting_on(reader: Reader, pages: Collection[str]) -> Set[str]:
    """What was learned from pages, and the topics that they are in."""
    learned = {link.source for link in reader.sources(pages, LinkKind.DERIVED_FROM)}
    return learned.union(link.target for link in reader.targets(pages, LinkKind.MEMBER_OF))


def _built(
    reader: Reader,
    ids: Sequence[str],
    find_changed: Callable[[Set[str]], tuple[Set[str], Set[str]]],
    kept: Set[str] = _NONE,
) -> Built:
    """What was built from these memories, by what takes it: that they are told otherwise, or no longer say the same."""
    links = [link for link in reader.sources(ids, LinkKind.COMPUTED_FROM) if link.source not in kept] if ids else ()
    if not links:  # as nearly always
        return Built()
    kinds = reader.kinds({link.source for link in links})
    told, reworded = find_changed({link.target for link in links})
    taken_by = {Kind.ACTIVATION: told, Kind.PARAMETER: reworded, Kind.FACT: reworded}
    known = [link for link in links if link.source in kinds]  # by this owner
    gone = dict.fromkeys(link.source for link in known if link.target in taken_by.get(kinds[link.source], _NONE))
    states, others = (
        [one for one in gone if (kinds[one] is Kind.ACTIVATION) is is_state] for is_state in (True, False)
    )
    return Built(states, _learned(reader, others))


def _learned(reader: Reader, ids: Sequence[str]) -> list[MemCube]:
    """Of adapters and facts, those that rest on nothing else: what somebody said, too, stays."""
    found = list(reader.get(ids).values()) if ids else []
    told = [cube.id for cube in found if cube.kind is Kind.FACT]
    read = {link.source for link in reader.targets(told, LinkKind.DERIVED_FROM)} if told else _NONE
    return [cube for cube in found if cube.kind is Kind.PARAMETER or not _was_said(cube, is_read=cube.id in read)]


def _was_said(cube: MemCube, *, is_read: bool) -> bool:
    """Whether somebody said a fact, in the same words, that an adapter told first: then it rests on that."""
    known = cube.descriptive
    if known.origin is not Origin.FINETUNING:
        return True
    is_stated = any(max(one.said, one.at) > known.recorded_at for one in known.mentions)
    return (is_read or is_stated) and isinstance(cube.payload, Fact) and not cube.payload.wordings


def _changed(reader: Reader, entries: Sequence[Entry], used: Set[str]) -> tuple[Set[str], Set[str]]:
    """The used ones among these memories that a prompt will tell otherwise, and those that no longer say the same."""
    before = reader.get(used)
    pairs = [(before[one.cube.id], one.cube) for one in entries if one.cube.id in before]
    told, said = (frozenset(new.id for old, new in pairs if what(old) != what(new)) for what in (_told, _said))
    return told, said


def _told(cube: MemCube) -> tuple[object, ...]:
    """What counts of a memory for a prompt: what it says, of which version, who says so, and when it ends."""
    known = cube.descriptive
    return (*_said(cube), cube.number, known.origin, cube.is_document, cube.governance.lifespan.expires_at)


def _said(cube: MemCube) -> tuple[object, ...]:
    """What counts of a memory for what is built from it: its words, whether they hold, and who may read them."""
    known = cube.governance
    is_over = cube.state in OVER
    return (
        cube.payload,
        is_over,
        cube.mark,
        cube.version.superseded_by,
        labels_of(cube),
        known.access,
        known.sensitivity,
    )
