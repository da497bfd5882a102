"""Window: the neighbours of each row, as sums over adjacent places.

Each row has a place. The rows of a sitting have places one after the other, and two empty places part it from the
next sitting: so the turn two before a row is two places before it, and no sum includes another sitting.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from memoryos.operation.index.turns import Floats, Ints, TurnIndex

NEAR = 0.6  # the weight of the turns directly before and after
NEXT = 0.4  # of those one further

_REACH = 2  # turns
_STEPS = np.arange(-_REACH, _REACH + 1)
_BY_STEP = np.array([NEXT, NEAR, 1, NEAR, NEXT], np.float32)

Places = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The place of each row, shape (n,), and how many places there are."""

    places: Places
    size: int


def layout(index: TurnIndex) -> Layout:
    """The places of the rows as they are."""
    return index.derived("layout", partial(_laid_out, index))


def spread(values: Floats) -> Floats:
    """The sum around each place, weighted by distance; the empty places at both ends get nothing, shapes (m,)."""
    found = np.empty_like(values)
    spread_into(found, values, np.empty_like(values))
    return found


def spread_into(found: Floats, values: Floats, room: Floats) -> None:
    """Write what `spread` gives into `found`, and any numbers into `room`, shapes (m,).

    Allocating large arrays takes longer than filling them.
    """
    found[:_REACH] = found[-_REACH:] = 0
    inner, near = found[_REACH:-_REACH], room[_REACH:-_REACH]
    np.add(values[: -2 * _REACH], values[2 * _REACH :], out=inner)
    inner *= np.float32(NEXT)
    np.add(values[1:-3], values[3:-1], out=near)
    near *= np.float32(NEAR)
    inner += near
    inner += values[_REACH:-_REACH]


def around(places: Places, values: Floats) -> tuple[Ints, Floats]:
    """The same for few: the places and those around them, with the values weighted by distance, shapes (5·k,)."""
    return np.add.outer(_STEPS, places).ravel(), np.multiply.outer(_BY_STEP, values).ravel()


def _laid_out(index: TurnIndex) -> Layout:
    rows = np.arange(len(index))
    before = index.around.before[:-1]
    opens = before != rows - 1
    runs = np.flatnonzero(opens)  # rows that are adjacent in the talk and here form a run, named by its first row
    sizes = np.diff(runs, append=len(rows))
    run_of = np.cumsum(opens) - 1
    sittings, ahead = _joined(runs, sizes, np.append(run_of, -1)[before[runs]])
    room = np.bincount(sittings, sizes, len(runs)).astype(np.int64)
    room[room > 0] += _REACH
    starts = _REACH + np.cumsum(room) - room
    first = starts[sittings] + ahead
    return Layout((first[run_of] + rows - runs[run_of]).astype(np.int32), _REACH + int(room.sum()))


def _joined(runs: Ints, sizes: Ints, previous: Ints) -> tuple[Ints, Ints]:
    """For each run, the run that its sitting begins with and how many rows lie between; -1 is no previous run.

    Each look back is twice as far as the one before it.
    """
    has_previous = previous >= 0
    first = np.where(has_previous, previous, np.arange(len(runs)))
    ahead = np.where(has_previous, sizes[previous], 0)
    while not np.array_equal(further := first[first], first):
        ahead += ahead[first]
        first = further
    return first, ahead
