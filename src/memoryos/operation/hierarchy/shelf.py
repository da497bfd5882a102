"""Shelf: the segments of MTM as arrays, so that a page is compared with all of them at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from memoryos.operation.hierarchy.score import FScores, Probe

_ROOM = 64  # for segments to come, and for as many times that of stems


class Shelf:
    """The probes of segments, in the order in which they came."""

    def __init__(self, dim: int) -> None:
        self._places: dict[str, int] = {}  # of a segment, its row
        self._columns: dict[str, int] = {}  # of a stem
        self._stems: list[frozenset[str]] = []
        self._units = np.zeros((_ROOM, dim), np.float32)
        self._sizes = np.zeros(_ROOM)
        self._has = np.zeros((_ROOM * _ROOM, _ROOM), np.uint8)  # (stems, segments): whether it is one of its keywords

    def put(self, name: str, probe: Probe) -> None:
        """Add a segment, or put another probe into the place of its own."""
        row = self._places.setdefault(name, len(self._places))
        if row == len(self._stems):
            self._stems.append(frozenset())
            self._grow()
        self._has[self._numbers(self._stems[row] - probe.stems), row] = 0
        self._has[self._numbers(probe.stems - self._stems[row]), row] = 1
        self._units[row], self._sizes[row], self._stems[row] = probe.unit, len(probe.stems), probe.stems

    def remove(self, names: Collection[str]) -> None:
        """Take segments out; those behind them move up."""
        gone = [self._places[name] for name in names]
        self._units, self._sizes = np.delete(self._units, gone, axis=0), np.delete(self._sizes, gone)
        self._has = np.delete(self._has, gone, axis=1)
        left = [name for name in self._places if name not in names]
        self._stems = [self._stems[self._places[name]] for name in left]
        self._places = {name: row for row, name in enumerate(left)}

    def f_scores(self, text: Probe) -> FScores:
        """The F_score of a text against each segment."""
        count = len(self._places)
        known = [self._columns[form] for form in text.stems if form in self._columns]
        both = self._has[np.array(known, np.intp), :count].sum(axis=0, dtype=np.float64)
        either = self._sizes[:count] + len(text.stems) - both
        return FScores(np.vecdot(self._units[:count], text.unit), both / np.maximum(either, 1))

    def _numbers(self, stems: Iterable[str]) -> list[int]:
        """The columns of these stems."""
        numbers = [self._columns.setdefault(form, len(self._columns)) for form in stems]
        while len(self._columns) > len(self._has):
            self._has = np.concatenate([self._has, np.zeros_like(self._has)])
        return numbers

    def _grow(self) -> None:
        """Make room for another segment."""
        if len(self._stems) > len(self._sizes):
            self._units = np.concatenate([self._units, np.zeros_like(self._units)])
            self._sizes = np.concatenate([self._sizes, np.zeros_like(self._sizes)])
            self._has = np.concatenate([self._has, np.zeros_like(self._has)], axis=1)
