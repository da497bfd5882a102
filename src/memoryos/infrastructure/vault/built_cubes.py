"""Built cubes: what rests on a memory goes in the transaction that removes it, or changes what it rests on.

A KV state holds the words of its sources as the prompt told them, so it goes with every change of one. An adapter, and
what it told, goes if a source no longer says what it learned; a job trains the adapter again. So nothing with an erased
or outdated memory can be used, whatever becomes of this process.

What is frozen or on hold by itself does not go: a caller's change of its source is refused, and background work leaves
it, as does a caller that has a source told anew with the same words. What stays so is not used: whoever asks for it
compares it with its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta

from memoryos.caller import is_background
from memoryos.cube import Fact, MemCube
from memoryos.filter import labels_of
from memoryos.infrastructure.vault.contract import Reader, Writer
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import MADE_OF_MEMORIES, Kind, Origin, State

TRAIN_AFTER = timedelta(minutes=1)  # a change: others may follow
OVER = (State.EXPIRED, State.MERGED)  # of a memory that nothing may be built from
_HARMLESS = {Operation.MOVE, Operation.CHAIN, Operation.JOIN, Operation.VISIT, Operation.PROMOTE, Operation.REHOME}
_NONE: Set[str] = frozenset()
_CHANGES = (Operation.REVISE, Operation.REFRESH, Operation.MOVE, Operation.PROMOTE)  # that may change what a cube says


@dataclass(frozen=True, slots=True)
class Built:
    """What goes with memories that it was built from."""

    states: Sequence[str] = ()  #: ids of KV states
    learned: Sequence[MemCube] = ()  #: adapters, and facts that they told
    retold: Set[str] = _NONE  #: ids of the KV states of which each source says what it said

    @property
    def has_adapter(self) -> bool:
        """Whether an adapter goes."""
        return any(cube.kind is Kind.PARAMETER for cube in self.learned)

    def going(self, reader: Reader) -> list[str]:
        """The ids of what is to go: without what stays although nobody is refused for it."""
        ids = [*self.states, *(cube.id for cube in self.learned)]
        excused = ids if is_background() else list(self.retold)
        staying = undeletable(reader, excused) if excused else _NONE
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
    return _built(reader, ids, removed, lambda used: used, kept=removed)


def outdated(reader: Reader, entries: Sequence[Entry], operation: Operation, over: Collection[str]) -> Built:
    """What goes if these memories become so; those that are `over` end."""
    ids = [entry.cube.id for entry in entries]
    told = set(over if operation in _HARMLESS else ids)
    wanted = ids if operation in _CHANGES else [one for one in ids if one in told]
    return _built(reader, wanted, told, lambda used: _reworded(reader, entries, operation, used))


def _built(
    reader: Reader,
    ids: Sequence[str],
    told: Set[str],
    find_reworded: Callable[[Set[str]], Set[str]],
    kept: Set[str] = _NONE,
) -> Built:
    """What was built from these memories, by what takes it: that they are told anew, or no longer say the same."""
    links = [link for link in reader.sources(ids, LinkKind.COMPUTED_FROM) if link.source not in kept] if ids else ()
    if not links:  # as nearly always
        return Built()
    kinds = reader.kinds({link.source for link in links})
    reworded = find_reworded({link.target for link in links})
    taken_by = {Kind.ACTIVATION: told, Kind.PARAMETER: reworded, Kind.FACT: reworded}
    known = [link for link in links if link.source in kinds]  # by this owner
    gone = dict.fromkeys(link.source for link in known if link.target in taken_by.get(kinds[link.source], _NONE))
    states, others = (
        [one for one in gone if (kinds[one] is Kind.ACTIVATION) is is_state] for is_state in (True, False)
    )
    changed = {link.source for link in known if link.target in reworded}
    return Built(states, _learned(reader, others), frozenset(states) - changed)


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


def _reworded(reader: Reader, entries: Sequence[Entry], operation: Operation, used: Set[str]) -> Set[str]:
    """The used ones among these memories that will no longer say what they say."""
    if operation not in _CHANGES:
        return _NONE
    before = reader.get(used)
    return {one.cube.id for one in entries if one.cube.id in before and _said(one.cube) != _said(before[one.cube.id])}


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
