"""Built cubes: adapters and KV caches go in the transaction that changes or removes a memory that they were built from.

So none that knows an erased or outdated memory can be used, whatever becomes of this process. A job builds them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta

from memoryos.cube import MemCube
from memoryos.filter import labels_of
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Entry, JobKind, LinkKind, Operation
from memoryos.kinds import Kind, State

BUILD_AFTER = timedelta(minutes=1)  # a change: others may follow
JOB_OF = {Kind.PARAMETER: JobKind.TRAIN}
_CHANGES = (Operation.REVISE, Operation.REFRESH, Operation.MOVE, Operation.PROMOTE)  # that may change what a cube says


def built_from(reader: Reader, ids: Iterable[str]) -> list[MemCube]:
    """The adapters and KV caches of this owner that were built from these memories."""
    links = reader.sources(ids, LinkKind.BUILT_FROM)
    return list(reader.get({link.source for link in links}).values()) if links else []


def outdated(reader: Reader, entries: Sequence[Entry], operation: Operation) -> list[str]:
    """The memories among these that something was built from, and that will no longer say what it was built from."""
    if operation not in _CHANGES:
        return []
    used = {link.target for link in reader.sources((entry.cube.id for entry in entries), LinkKind.BUILT_FROM)}
    before = reader.get(used) if used else {}
    return [one.cube.id for one in entries if one.cube.id in before and _said(one.cube) != _said(before[one.cube.id])]


def _said(cube: MemCube) -> tuple[object, ...]:
    """What counts of a memory for what is built from it: its words, whether they hold, and who may read them."""
    known = cube.governance
    is_over = cube.state in (State.EXPIRED, State.MERGED)
    return (
        cube.payload,
        is_over,
        cube.mark,
        cube.version.superseded_by,
        labels_of(cube),
        known.access,
        known.sensitivity,
    )
