"""Built cubes: adapters, and what they told, go in the transaction that changes or removes a memory that they know.

So no adapter with an erased or outdated memory can be used, whatever becomes of this process. A job trains it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from memoryos.cube import Fact, MemCube
from memoryos.filter import labels_of
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry, LinkKind, Operation
from memoryos.kinds import Kind, Origin, State

TRAIN_AFTER = timedelta(minutes=1)  # a change: others may follow
OVER = (State.EXPIRED, State.MERGED)  # of a memory that nothing may be built from
_BUILT = (Kind.PARAMETER, Kind.FACT)
_CHANGES = (Operation.REVISE, Operation.REFRESH, Operation.MOVE, Operation.PROMOTE)  # that may change what a cube says


def built_from(reader: Reader, ids: Iterable[str]) -> list[MemCube]:
    """The adapters of this owner that were trained on these memories, and the facts that adapters told of them."""
    links = reader.sources(ids, LinkKind.COMPUTED_FROM)
    found = reader.get({link.source for link in links}).values() if links else ()
    built = [cube for cube in found if cube.kind in _BUILT]
    told = [cube.id for cube in built if cube.kind is Kind.FACT]
    read = {link.source for link in reader.targets(told, LinkKind.DERIVED_FROM)} if told else set[str]()
    return [cube for cube in built if cube.kind is Kind.PARAMETER or not _was_said(cube, is_read=cube.id in read)]


def _was_said(cube: MemCube, *, is_read: bool) -> bool:
    """Whether somebody said a fact, in the same words, that an adapter told first: then it rests on that."""
    known = cube.descriptive
    if known.origin is not Origin.FINETUNING:
        return True
    is_stated = any(max(one.said, one.at) > known.recorded_at for one in known.mentions)
    return (is_read or is_stated) and isinstance(cube.payload, Fact) and not cube.payload.wordings


def outdated(reader: Reader, entries: Sequence[Entry], operation: Operation) -> list[str]:
    """The memories among these that something was built from, and that will no longer say what it was built from."""
    if operation not in _CHANGES:
        return []
    used = {link.target for link in reader.sources((entry.cube.id for entry in entries), LinkKind.COMPUTED_FROM)}
    before = reader.get(used) if used else {}
    return [one.cube.id for one in entries if one.cube.id in before and _said(one.cube) != _said(before[one.cube.id])]


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
