"""Shelf: the segments of MTM as arrays, so that a page is compared with all of them at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import chain

import numpy as np

from memoryos.operation.hierarchy.score import FScores, Probe

_STEMS, _SEGMENTS = 1_024, 64  # room for those to come


class Shelf:
    """The probes of segments, in the order in which they came; there is at least one."""

    def __init__(self, probes: Mapping[str, Probe]) -> None:
        self._places = {name: row for row, name in enumerate(probes)}  # of a segment, its row
        self._stems = [probe.stems for probe in probes.values()]
        every = list(chain.from_iterable(self._stems))
        self._columns = {form: column for column, form in enumerate(dict.fromkeys(every))}  # of a stem
        self._units = np.stack([probe.unit for probe in probes.values()])
        self._sizes = np.array([len(stems) for stems in self._stems], np.float64)
        columns = [self._columns[form] for form in every]
        rows = np.repeat(np.arange(len(probes)), [len(stems) for stems in self._stems])
        self._has = np.zeros((_STEMS + len(self._columns), len(probes)), np.uint8)  # (stems, segments)
        self._has[np.array(columns, np.intp), rows] = 1

    def put(self, name: str, probe: Probe) -> None:
        """Add a segment, or put another probe into the place of its own."""
        row = self._places.setdefault(name, len(self._places))
        if row == len(self._stems):
            self._stems.append(frozenset())
        new = self._numbers(probe.stems - self._stems[row])
        self._make_room()
        self._has[self._numbers(self._stems[row] - probe.stems), row] = 0
        self._has[new, row] = 1
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
        return [self._columns.setdefault(form, len(self._columns)) for form in stems]

    def _make_room(self) -> None:
        """Let the arrays hold as many segments and stems as there are."""
        if len(self._columns) > len(self._has):
            self._has = np.pad(self._has, ((0, _STEMS), (0, 0)))
        if len(self._stems) > len(self._sizes):
            self._units = np.pad(self._units, ((0, _SEGMENTS), (0, 0)))
            self._sizes = np.pad(self._sizes, (0, _SEGMENTS))
            self._has = np.pad(self._has, ((0, 0), (0, _SEGMENTS)))
