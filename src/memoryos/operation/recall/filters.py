"""Filters: which memories a search may find. They apply before the ranking, so they never shorten a result."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memoryos.caller import View
from memoryos.clock import from_micros, micros
from memoryos.cube import MemCube
from memoryos.filter import EVERYTHING, Filter, labels_of
from memoryos.infrastructure.vault.records import Entry, Vector
from memoryos.infrastructure.vault.snapshot import Snapshot
from memoryos.kinds import Kind, State, Tier
from memoryos.operation.hierarchy.page_entries import turns_of, weighed
from memoryos.operation.index.turns import Flags, Floats, Ints, TurnIndex
from memoryos.scope import Scope

SEARCHABLE = (Kind.PAGE, Kind.FACT, Kind.TRAIT, Kind.PROFILE, Kind.SEGMENT)
UNASKED = frozenset(SEARCHABLE) - {Kind.SEGMENT}  # the kinds that are found when none is named
EVERYWHERE = frozenset(Tier)

_OF_A_PAGE = 4  # rows of each page wanted that are sorted first
_MORE = 4  # times as many where these are of too few pages


@dataclass(frozen=True, slots=True)
class Classes:
    """Which pages of an owner the caller may read, by their labels: policies are compiled into this filter."""

    view: View
    owner: Scope

    @property
    def mark(self) -> Hashable:
        """The same for as long as all answers stay the same."""
        return self.view.mark, self.owner

    def admits(self, labels: str | None) -> bool:
        """Whether pages with these labels may be read; they are the JSON list that the store keeps."""
        return self.view.admits(self.owner, Kind.PAGE.value, labels)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which memories may be found."""

    now: datetime  #: what has expired by then is gone
    tiers: frozenset[Tier] = EVERYWHERE
    kinds: frozenset[Kind] = UNASKED
    labels: Filter = EVERYTHING  #: tags, metadata and whatever else `memoryos.filter` defines
    session: str | None = None
    since: datetime | None = None  #: nothing that was only said before
    until: datetime | None = None  #: nor only after
    as_of: datetime | None = None  #: the memory as it was then
    snapshot: Snapshot | None = None  #: the memory as the store held it then; `as_of` is its moment
    cold: bool = False  #: whether archived pages may be found that have to be read from the object store
    classes: Classes | None = None  #: what the caller may read; None: everything

    def admitted(self, index: TurnIndex) -> Admitted:
        """The turns that may be found."""
        facets = index.facets
        rows = (
            index.findable
            & facets.in_tiers(self.tiers, cold=self.cold, merged=self.looks_back)
            & facets.lasting(micros(self.now))
        )
        if self.since:
            rows &= index.said_at >= micros(self.since)
        for end in (self.until, self.as_of):
            if end:
                rows &= index.said_at <= micros(end)
        if self.classes:
            rows &= facets.admitted(self.classes)
        return Admitted(index, rows & self._labelled(index) if self._has_labels else rows)

    def admits(self, page: MemCube) -> bool:
        """Whether a page passes, with at least one of its turns."""
        is_labelled = not self._has_labels or self._is_labelled(page)
        return is_labelled and self.allows(page) and self._has_turn_within(page)

    def is_in_reach(self, page: MemCube) -> bool:
        """Whether a page is in the tiers and has a turn in the time; its kind, labels and end are not looked at."""
        return self._is_in_tiers(page) and self._has_turn_within(page)

    def entries(self, held: Iterable[Entry], pages: TurnIndex) -> list[Entry]:
        """The entries that pass; derived memories also have the labels, sessions and times of their pages."""
        present = [entry for entry in held if self.allows(entry.cube)]
        if not self._has_labels and not self._has_period:
            return present
        labelled, excluded = self._labelled(pages), ~pages.facets.labelled(Filter(none_of=self.labels.none_of))
        return [entry for entry in present if self._inherits(entry.cube, pages, labelled, excluded)]

    def _inherits(self, cube: MemCube, pages: TurnIndex, labelled: Flags, excluded: Flags) -> bool:
        """Whether it, or one of its pages, has the labels and the time, and not all of its pages are excluded."""
        labels = labels_of(cube)
        if self.labels.none_of.intersection(labels):
            return False
        rows = [row for page in cube.descriptive.provenance for row in pages.rows_of(page)]
        within = (
            [row for row in rows if self.covers(from_micros(int(pages.said_at[row])))] if self._has_period else rows
        )
        if any(labelled[row] for row in within):
            return True
        by_itself = self.labels.wants.admits(labels) and self.session in (None, cube.scope.session)
        if not by_itself or (rows and all(excluded[row] for row in rows)):
            return False
        return not self._has_period or bool(within) or any(map(self.covers, _own_times(cube, pages)))

    @property
    def _has_labels(self) -> bool:
        return bool(self.labels) or self.session is not None

    @property
    def _has_period(self) -> bool:
        return self.since is not None or self.until is not None

    def _labelled(self, index: TurnIndex) -> Flags:
        """Which rows have the labels and the session, shape (n,)."""
        rows = index.facets.labelled(self.labels)
        return rows if self.session is None else rows & index.facets.in_session(self.session)

    def _is_labelled(self, cube: MemCube) -> bool:
        return self.labels.admits(labels_of(cube)) and self.session in (None, cube.scope.session)

    def allows(self, cube: MemCube) -> bool:
        """Whether a memory passes, apart from its labels and its time."""
        return (
            cube.payload.type in self.kinds
            and self._is_in_tiers(cube)
            and (cube.state is not State.MERGED or not cube.is_absorbed or self.looks_back)
            and not cube.has_expired(self.now)
            and (cube.mark is None or not cube.is_proposal)
            and (cube.descriptive.valid_to is None or not self._is_over(cube))
        )

    def _is_in_tiers(self, cube: MemCube) -> bool:
        return (Tier.ARCHIVE if cube.state is State.ARCHIVED else cube.tier) in self.tiers

    @property
    def looks_back(self) -> bool:
        """Whether the memory is searched as it was at an earlier time."""
        return self.as_of is not None

    def covers(self, moment: datetime) -> bool:
        """Whether this time passes."""
        ends = [end for end in (self.until, self.as_of) if end]
        return (not self.since or moment >= self.since) and all(moment <= end for end in ends)

    def _has_turn_within(self, page: MemCube) -> bool:
        turns = turns_of(page)
        if not self._has_period and not self.looks_back:
            return bool(turns)
        return any(turn.at is None or self.covers(turn.at) for turn in turns)

    def _is_over(self, cube: MemCube) -> bool:
        return cube.kind in (Kind.FACT, Kind.PROFILE) and cube.is_over(self.as_of or self.now)


def _own_times(cube: MemCube, pages: TurnIndex) -> list[datetime]:
    """When it was said, as far as no page in the index tells.

    The time of a derived memory counts only when some of its pages are elsewhere: of a home it is that of the move.
    """
    known = cube.descriptive
    said = [turn.at for turn in turns_of(cube) if turn.at] or [mention.said for mention in known.mentions]
    is_told = bool(said) or (known.provenance and all(map(pages.rows_of, known.provenance)))
    return said if is_told else [known.event_at]


@dataclass(frozen=True, slots=True)
class Admitted:
    """The turns of an index that may be found."""

    index: TurnIndex
    rows: Flags  #: shape (n,)

    def turns(self, page: str) -> list[int]:
        """The admitted turns of a page."""
        return sorted({self.index.place(row).turn for row in self.index.rows_of(page) if self.rows[row]})

    def latest_pages(self, most: int) -> list[str]:
        """The pages with an admitted turn that came last, oldest first."""
        return self._first_pages(-self.index.order, most)[::-1]

    def nearest_pages(self, question: Vector, most: int) -> list[str]:
        """The pages with the admitted turns that are nearest in meaning, nearest first."""
        return self._first_pages(-self.index.vectors.dot(question), most)

    def directions(self, pages: Iterable[str]) -> dict[str, Vector]:
        """The direction of each page, of its admitted turns alone; pages without any are left out."""
        rows = {page: [row for row in self.index.rows_of(page) if self.rows[row]] for page in pages}
        return {page: self._direction(some) for page, some in rows.items() if some}

    def _first_pages(self, keys: Ints | Floats, most: int) -> list[str]:
        """The pages of the admitted rows with the least keys, in that order; few more rows than it takes are sorted."""
        rows = np.flatnonzero(self.rows)
        keys, wanted = keys[rows], max(1, _OF_A_PAGE * most)
        while True:
            first = rows[_least(keys, wanted)]
            pages = list(dict.fromkeys(map(self.index.page_of, first.tolist())))
            if len(pages) >= most or len(first) == len(rows):
                return pages[:most]
            wanted *= _MORE

    def _direction(self, rows: Sequence[int]) -> Vector:
        lengths = [max(int(self.index.lengths[row]), 1) for row in rows]
        return weighed(self.index.vectors.rows(np.array(rows)), lengths)


def _least(keys: Ints | Floats, wanted: int) -> Ints:
    """Where the least of these keys are, in order, and all that tie with the last one, shape (k,)."""
    if wanted >= len(keys):
        return np.argsort(keys, kind="stable")
    found = np.flatnonzero(keys <= np.partition(keys, wanted - 1)[wanted - 1])
    return found[np.argsort(keys[found], kind="stable")]
