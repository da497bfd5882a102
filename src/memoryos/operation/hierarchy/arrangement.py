"""Arrangement: which page belongs to which segment while a repair is planned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from memoryos.infrastructure.vault.records import Vector
from memoryos.operation.hierarchy.cohesion import Floats, fits, unit_rows

Rows = NDArray[np.int64]


class Reason(StrEnum):
    """Why a page goes to another segment."""

    MOVE = "move"  # it fits the other one better
    SPLIT = "split"  # its segment held two topics
    MERGE = "merge"  # its segment and the other one were about the same
    UNDO = "undo"  # it was not wanted there


@dataclass(frozen=True, slots=True)
class Placed:
    """A page and its current segment."""

    page: str
    segment: str
    vector: Vector
    is_kept: bool = False  #: somebody put it there


@dataclass(frozen=True, slots=True)
class Rehoming:
    """A page that goes to another segment."""

    page: str
    source: str
    target: str  #: a segment there is, or one of `Plan.opened`
    reason: Reason


@dataclass(frozen=True, slots=True)
class Plan:
    """The moves of a repair."""

    rehomings: tuple[Rehoming, ...] = ()
    opened: tuple[str, ...] = ()  #: names within this plan of segments that are to be made
    closed: tuple[str, ...] = ()  #: segments whose pages all go to others


class Arrangement:
    """Pages by row, in order of position; segments by number, new ones after existing ones."""

    def __init__(self, pages: Sequence[Placed], alone: float, room: int) -> None:
        """Begin with what is; `alone` is the fit of a page by itself, `room` how many segments may be opened."""
        self.alone = alone
        self.room = room
        self._pages = pages
        self._units = unit_rows([page.vector for page in pages])
        self._is_kept = np.array([page.is_kept for page in pages], np.bool_)
        self._names = list(dict.fromkeys(page.segment for page in pages))
        self._stored = tuple(self._names)
        self._rows: dict[int, Rows] = {}
        self._centres: dict[int, Floats] = {}
        self._reasons: dict[int, Reason] = {}  # by row, of its latest step
        numbers = {name: number for number, name in enumerate(self._names)}
        homes = np.array([numbers[page.segment] for page in pages], np.int64)
        for number in numbers.values():
            self._put(number, np.flatnonzero(homes == number))

    @property
    def numbers(self) -> list[int]:
        """The segments that have pages."""
        return list(self._rows)

    def rows(self, number: int) -> Rows:
        """The pages of a segment, shape (n,)."""
        return self._rows[number]

    def units(self, rows: Rows) -> Floats:
        """Their directions, shape (n, dim)."""
        return self._units[rows]

    def centres(self, numbers: Sequence[int]) -> Floats:
        """The directions of segments, shape (segments, dim)."""
        return np.stack([self._centres[number] for number in numbers])

    def fits(self, rows: Rows) -> Floats:
        """How well each of these pages would fit a segment that they form, shape (n,)."""
        return fits(self._units[rows]) if len(rows) > 1 else np.full(len(rows), self.alone)

    def may_leave(self, rows: Rows) -> bool:
        """Whether none of these pages must stay where it is."""
        return not bool(self._is_kept[rows].any())

    def open(self, rows: Rows) -> int:
        """Open a segment for these pages; return its number."""
        number = len(self._names)
        self._names.append(f"new-{number - len(self._stored) + 1}")
        self.room -= 1
        self._put(number, rows)
        return self._noted(number, rows, Reason.SPLIT)

    def give(self, rows: Rows, source: int, target: int, reason: Reason) -> None:
        """Move pages from one segment to another."""
        self.keep(source, np.setdiff1d(self._rows[source], rows))
        self._put(target, np.sort(np.append(self._rows[target], rows)))
        self._noted(target, rows, reason)

    def keep(self, number: int, rows: Rows) -> None:
        """Set the pages of a segment; without pages, it is removed."""
        if len(rows):
            self._put(number, rows)
        else:
            del self._rows[number], self._centres[number]

    def plan(self) -> Plan:
        """Return the changes."""
        homes = sorted((row, self._names[number]) for number, rows in self._rows.items() for row in rows.tolist())
        return Plan(
            tuple(self._rehoming(row, name) for row, name in homes if name != self._pages[row].segment),
            tuple(self._names[number] for number in self._rows if number >= len(self._stored)),
            tuple(name for number, name in enumerate(self._stored) if number not in self._rows),
        )

    def _rehoming(self, row: int, target: str) -> Rehoming:
        page = self._pages[row]
        return Rehoming(page.page, page.segment, target, self._reasons[row])

    def _put(self, number: int, rows: Rows) -> None:
        self._rows[number] = rows
        self._centres[number] = unit_rows([self._units[rows].sum(axis=0)])[0]

    def _noted(self, number: int, rows: Rows, reason: Reason) -> int:
        self._reasons.update(dict.fromkeys(rows.tolist(), reason))
        return number
