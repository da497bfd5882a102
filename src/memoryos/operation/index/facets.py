"""Facets: the properties of a row other than words and time: tier, session, tags, expiry, segment."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memoryos.bounded import Bounded
from memoryos.filter import Filter, read_labels
from memoryos.infrastructure.vault.records import COLD_TIER, MERGED_TIER, Facet, StoredPassage
from memoryos.kinds import Tier
from memoryos.operation.index.column import Column

Flags = NDArray[np.bool_]

_TIER_NUMBERS = {name: number for number, name in enumerate([*(tier.value for tier in Tier), COLD_TIER, MERGED_TIER])}
_NEVER = np.iinfo(np.int64).max
_NONE = np.empty(0, np.bool_)
_MOST_MARKS = 16  # callers with different rights whose decisions are remembered
_TEXT_BYTES = 300  # a session or a set of tags, with its entries in the dictionaries, roughly


class AdmittedLabels(Protocol):
    """Which sets of labels a caller may read."""

    @property
    def mark(self) -> Hashable:
        """The same for as long as all answers stay the same."""
        ...

    def admits(self, labels: str | None) -> bool:
        """Whether pages with these labels may be read; they are the JSON list that the store keeps."""
        ...


class Facets:
    """The facets of all rows; each name or set of tags is stored once, and rows refer to it by number."""

    def __init__(self) -> None:
        self._tiers = Column(np.int8)
        self._sessions = Column(np.int32)
        self._segments = Column(np.int32)
        self._tags = Column(np.int32)
        self._expires_at = Column(np.int64)
        self._session_numbers: dict[str | None, int] = {}
        self._segment_numbers: dict[str | None, int] = {}
        self._segment_names: list[str | None] = []
        self._set_numbers: dict[str | None, int] = {}
        self._sets_with: dict[str, set[int]] = {}  # label -> the sets of labels that it is in
        self._admitted = Bounded[Hashable, Flags](_MOST_MARKS)  # which sets, under the mark of who decided

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        columns = sum(value.nbytes for value in vars(self).values() if isinstance(value, Column))
        names = (self._session_numbers, self._segment_numbers, self._set_numbers)
        return columns + _TEXT_BYTES * sum(map(len, names))

    def extend(self, passages: Sequence[StoredPassage]) -> None:
        """Append rows."""
        self._tiers.extend([_TIER_NUMBERS[passage.tier] for passage in passages])
        self._sessions.extend([self.session(passage.session) for passage in passages])
        self._segments.extend([self._segment(passage.segment) for passage in passages])
        self._tags.extend([self._set(passage.tags) for passage in passages])
        self._expires_at.extend([_end(passage.expires_at) for passage in passages])

    def fixed(self) -> Facets:
        """The facets of the rows that there are now; what is noted of these rows later shows in it."""
        fixed = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Column):
                setattr(fixed, name, value.fixed())
        return fixed

    def without_segments(self) -> Facets:
        """The same, as `fixed`, with no row in a segment."""
        fixed = self.fixed()
        fixed._segments = Column.of(np.zeros(len(self._segments), np.int32))
        fixed._segment_names, fixed._segment_numbers = [None], {None: 0}
        return fixed

    def note(self, rows: Sequence[int], facets: Sequence[Facet]) -> bool:
        """Set the facet of each of these rows; returns whether their labels changed."""
        places = np.array(rows, np.int64)
        labels = self._tags.values[places]
        self._tiers.values[places] = [_TIER_NUMBERS[facet.tier] for facet in facets]
        self._segments.values[places] = [self._segment(facet.segment) for facet in facets]
        self._tags.values[places] = [self._set(facet.tags) for facet in facets]
        self._expires_at.values[places] = [_end(facet.expires_at) for facet in facets]
        return not np.array_equal(labels, self._tags.values[places])

    def session(self, name: str | None) -> int:
        """The number that rows of a session carry."""
        return self._session_numbers.setdefault(name, len(self._session_numbers))

    def session_at(self, row: int) -> int:
        """The number of a row's session."""
        return int(self._sessions.values[row])

    @property
    def sessions(self) -> NDArray[np.int32]:
        """The number of each row's session, shape (n,)."""
        return self._sessions.values

    @property
    def label_sets(self) -> NDArray[np.int32]:
        """The number of each row's set of labels, shape (n,)."""
        return self._tags.values

    @property
    def segments(self) -> NDArray[np.int32]:
        """The number of each row's segment, shape (n,); one number stands for none."""
        return self._segments.values

    @property
    def segment_names(self) -> Sequence[str | None]:
        """The segments by their numbers."""
        return self._segment_names

    def segment_at(self, row: int) -> str | None:
        """The segment of a row."""
        return self._segment_names[self._segments.item(row)]

    def in_tiers(self, tiers: Iterable[Tier], *, cold: bool = True, merged: bool = False) -> Flags:
        """Which rows are in these tiers, shape (n,); optionally without cold rows of the archive, or with merged ones.

        Pages in the state archived count as the archive.
        """
        rows = np.ones(len(self._tiers), np.bool_)
        left_out = {tier.value for tier in set(Tier).difference(tiers)}
        if not cold or Tier.ARCHIVE.value in left_out:
            left_out.add(COLD_TIER)
        if not merged:
            left_out.add(MERGED_TIER)
        for name in left_out:  # a comparison for each is many times faster than np.isin
            rows &= self._tiers.values != _TIER_NUMBERS[name]
        return rows

    def in_session(self, name: str) -> Flags:
        """Which rows belong to the session, shape (n,)."""
        return np.asarray(self._sessions.values == self._session_numbers.get(name, -1), np.bool_)

    def labelled(self, wanted: Filter) -> Flags:
        """Which rows the filter admits, shape (n,)."""
        if not wanted:
            return self._tags.values >= 0
        having = [self._sets_with.get(label, set()) for label in wanted.all_of]
        having += [self._sets_with_any(some) for some in wanted.any_of]
        found = set.intersection(*having) if having else set(self._set_numbers.values())
        return np.isin(self._tags.values, list(found - self._sets_with_any(wanted.none_of)))

    def admitted(self, classes: AdmittedLabels) -> Flags:
        """Which rows have a set of labels that is admitted, shape (n,)."""
        may = self.admitted_sets(classes)
        return np.ones(len(self._tags), np.bool_) if may.all() else may[self._tags.values]

    def admitted_sets(self, classes: AdmittedLabels) -> Flags:
        """Which sets of labels are admitted, by their numbers, shape (k,); under a mark, each is asked about once."""
        known = self._admitted.get(classes.mark, _NONE)
        if len(known) < len(self._set_numbers):  # a number always stands for the same labels
            new = map(classes.admits, islice(self._set_numbers, len(known), None))
            known = np.concatenate([known, np.fromiter(new, np.bool_)])
            self._admitted[classes.mark] = known
        return known

    def _sets_with_any(self, labels: Iterable[str]) -> set[int]:
        return set().union(*(self._sets_with.get(label, set()) for label in labels))

    def lasting(self, now: int) -> Flags:
        """Which rows have not expired at that moment, shape (n,)."""
        return np.asarray(self._expires_at.values > now, np.bool_)

    def ended_segments(self, now: int, alive: Flags) -> set[str | None]:
        """The segments of rows, among those that are alive, which have expired at that moment and are not swept yet."""
        ended = np.flatnonzero(alive & ~self.lasting(now))
        return {self._segment_names[number] for number in np.unique(self._segments.values[ended])}

    def _segment(self, name: str | None) -> int:
        number = self._segment_numbers.get(name)
        if number is None:
            number = self._segment_numbers[name] = len(self._segment_names)
            self._segment_names.append(name)
        return number

    def _set(self, text: str | None) -> int:
        number = self._set_numbers.get(text)
        if number is None:
            number = self._set_numbers[text] = len(self._set_numbers)
            for tag in read_labels(text) or ():  # `verify` names those that are damaged
                self._sets_with.setdefault(tag, set()).add(number)
        return number


def _end(expires_at: int | None) -> int:
    return _NEVER if expires_at is None else expires_at
