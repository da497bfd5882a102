"""Repair: which pages lie in the wrong segment, and where they belong. Values in, values out.

Paging places each page once, by the segments there were when it left STM, and a segment drifts with what it takes in.
Here the pages are looked at again with all the others at hand: a mixed segment is split, a page that clearly fits
another segment better is moved, and twins are merged. Every step raises the fits (`cohesion`) of all pages taken
together, or leaves them and lowers the number of segments; so the steps come to an end, and a second run finds
nothing to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from memoryos.infrastructure.vault.records import Vector
from memoryos.operation.hierarchy.arrangement import Arrangement, Placed, Plan, Reason, Rows
from memoryos.operation.hierarchy.cohesion import LEAST_GAIN, SAME, Flags, Floats, fits, halves, is_clear, unit_rows
from memoryos.operation.hierarchy.score import cosines

SPREADS = 2.0  # standard deviations of the fits within segments that another segment must be better by
SHARE = 0.05  # of what pages do not have in common, that a split must explain: the halves of mere noise explain less
SMALLEST_PART = 2  # pages: one page that stands apart is no topic

_PAIRS = 4  # looked at for each segment, when twins are sought
_ROUNDS = 20  # at most; two or three are usual


def plan(pages: Sequence[Placed], threshold: float, room: int) -> Plan:
    """What is to be done about these pages, given by position, all of each segment.

    `threshold` is the F_score above which a page joins a segment: so much is a page worth that lies alone. `room` is
    how many segments may be opened.
    """
    if not pages:
        return Plan()
    arrangement = Arrangement(pages, threshold, room)
    for _ in range(_ROUNDS):
        steps = (_split_all(arrangement), _move_all(arrangement), _merge_all(arrangement))
        if not any(steps):
            break
    return arrangement.plan()


def is_mixed(pages: Sequence[Placed]) -> bool:
    """Whether these pages of one segment are about two topics."""
    return bool(pages) and _parted(unit_rows([page.vector for page in pages])) is not None


def strays(pages: Sequence[Placed], others: Mapping[str, Vector], threshold: float) -> set[str]:
    """Of other segments, given by unit vectors, those that a page of this one seems to belong to."""
    if not others or len(pages) < SMALLEST_PART:
        return set()
    units = unit_rows([page.vector for page in pages])
    own = fits(units)
    wanted = np.maximum(own + SPREADS * own.std(), threshold)
    found = cosines(units.astype(np.float32), np.stack(list(others.values())))
    names = list(others)
    return {names[index] for index in found.argmax(axis=1)[found.max(axis=1) > wanted].tolist()}


# Mixed segments


def _split_all(arrangement: Arrangement) -> int:
    """Split mixed segments, and parts that are mixed, too; returns how many were split."""
    count, waiting = 0, arrangement.numbers
    while waiting and arrangement.room > 0:
        number = waiting.pop()
        rows = arrangement.rows(number)
        side = _parted(arrangement.units(rows))
        if side is None:
            continue
        leaving = max(rows[side], rows[~side], key=_seniority)
        if arrangement.may_leave(leaving):
            arrangement.keep(number, np.setdiff1d(rows, leaving))
            waiting += [number, arrangement.open(leaving)]
            count += 1
    return count


def _parted(units: Floats) -> Flags | None:
    """Which rows are about the one of two topics, shape (n,); None when there is but one."""
    if len(units) < 2 * SMALLEST_PART:
        return None
    side = halves(units)
    if side is None or min(side.sum(), (~side).sum()) < SMALLEST_PART:
        return None
    before, after = fits(units), np.empty(len(units))
    after[side], after[~side] = fits(units[side]), fits(units[~side])
    gains = after - before
    return side if is_clear(gains) and gains.mean() >= SHARE * (1 - before.mean()) else None


# Pages in the wrong segment


def _move_all(arrangement: Arrangement) -> int:
    """Move pages that are clearly better off elsewhere; returns how many."""
    if len(arrangement.numbers) < 2:
        return 0
    margin = SPREADS * _spread(arrangement)
    return sum(_move(arrangement, row, source, margin) for row, source in _suspects(arrangement, margin))


def _spread(arrangement: Arrangement) -> float:
    """The standard deviation of the fits within segments."""
    several = [rows for rows in map(arrangement.rows, arrangement.numbers) if len(rows) > 1]
    apart = [found - found.mean() for found in map(arrangement.fits, several)]
    return float(np.concatenate(apart).std()) if apart else 0.0


def _suspects(arrangement: Arrangement, margin: float) -> list[tuple[int, int]]:
    """Pages that seem to be better off elsewhere, with the segment they are in."""
    numbers = arrangement.numbers
    centres = arrangement.centres(numbers)
    found: list[tuple[int, int]] = []
    for place, number in enumerate(numbers):
        rows = arrangement.rows(number)
        wanted = np.maximum(arrangement.fits(rows) + margin, arrangement.alone)
        fitting = cosines(arrangement.units(rows), centres)
        fitting[:, place] = -1
        found += [(row, number) for row in rows[fitting.max(axis=1) > wanted].tolist()]
    return sorted(found)


def _move(arrangement: Arrangement, row: int, source: int, margin: float) -> bool:
    """Move a page, if the moves before have left it a reason; returns whether it went."""
    page, here = np.array([row]), arrangement.rows(source)
    others = [number for number in arrangement.numbers if number != source]
    if not others or not arrangement.may_leave(page):
        return False
    fitting = np.vecdot(arrangement.centres(others), arrangement.units(page)[0])
    wanted = max(float(arrangement.fits(here)[here == row][0]) + margin, arrangement.alone)
    better = [others[index] for index in np.argsort(-fitting, kind="stable").tolist() if fitting[index] > wanted]
    target = next((number for number in better if _may_join(arrangement, page, source, number)), None)
    if target is not None:
        arrangement.give(page, source, target, Reason.MOVE)
    return target is not None


def _may_join(arrangement: Arrangement, page: Rows, source: int, target: int) -> bool:
    """Whether all pages concerned are better off."""
    here, there = arrangement.rows(source), arrangement.rows(target)
    staying, joined = np.setdiff1d(here, page), np.sort(np.append(there, page))
    after = arrangement.fits(staying).sum() + arrangement.fits(joined).sum()
    before = arrangement.fits(here).sum() + arrangement.fits(there).sum()
    return bool(after - before > LEAST_GAIN)


# Twins


def _merge_all(arrangement: Arrangement) -> int:
    """Merge twins; returns how many segments went."""
    count = 0
    while pair := next((pair for pair in _neighbours(arrangement) if _are_twins(arrangement, *pair)), None):
        kept, gone = sorted(pair, key=lambda number: _seniority(arrangement.rows(number)))
        arrangement.give(arrangement.rows(gone), gone, kept, Reason.MERGE)
        count += 1
    return count


def _seniority(rows: Rows) -> tuple[int, int]:
    """The segment that stays comes first: the larger one, of two as large the older."""
    return -len(rows), int(rows[0])


def _neighbours(arrangement: Arrangement) -> Iterator[tuple[int, int]]:
    """The pairs of segments of several pages that lie closest, the closest first."""
    numbers = [number for number in arrangement.numbers if len(arrangement.rows(number)) >= SMALLEST_PART]
    if len(numbers) < 2:
        return
    centres = arrangement.centres(numbers)
    left, right = np.triu_indices(len(numbers), 1)
    fitting = cosines(centres, centres)[left, right]
    for index in np.argsort(-fitting, kind="stable")[: _PAIRS * len(numbers)].tolist():
        if fitting[index] > arrangement.alone:
            yield numbers[int(left[index])], numbers[int(right[index])]


def _are_twins(arrangement: Arrangement, one: int, other: int) -> bool:
    """Whether their pages fit better together, or are the same anyhow; and those of the smaller one may leave."""
    apart = sorted([arrangement.rows(one), arrangement.rows(other)], key=_seniority)
    together = np.concatenate(apart)
    if not arrangement.may_leave(apart[1]):
        return False
    gains = arrangement.fits(together) - np.concatenate([arrangement.fits(rows) for rows in apart])
    return is_clear(gains) or bool(np.abs(gains).max() <= SAME)
