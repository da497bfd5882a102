"""Calibrator: when the values of a scope are due, and the samples that they are made of.

One serves one `Pager`. A calibration happens after a certain number of pages, in the
middle of a transaction if need be: so the same pages give the same values, however many of them came at a time and
whichever process moved them. The values are noted in the store, so that every process uses the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import TypeVar

import numpy as np

from memoryos.clock import micros
from memoryos.config import Settings
from memoryos.cube import MemCube, Tier
from memoryos.infrastructure.vault.contract import LinkKind, Reader, Vector
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, segment_of
from memoryos.operation.hierarchy.score import Probe, jaccard
from memoryos.operation.hierarchy.tuning import (
    CONTEXT_PAGES,
    FIRST_PAGES,
    Calibration,
    Samples,
    adjustable,
    calibrated,
    tuned,
)
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import SITTING_PAUSE, Ints
from memoryos.operation.passages import page_vectors, turns_of

NOTE = "calibration"
PAIRS = 128  # of neighbours, so at most twice as many pages are read
STRANGERS = 512  # pairs of different sittings
PROBES = 64
SEED = 20231  # any fixed number: the same pages give the same values

T = TypeVar("T")


def noted(reader: Reader) -> Calibration | None:
    """The calibration of the reader's scope."""
    return Calibration.from_json(reader.note(NOTE))


def tuned_for(reader: Reader, settings: Settings) -> Settings:
    """The settings as the reader's scope uses them."""
    return tuned(settings, noted(reader)) if adjustable(settings) else settings


class Calibrator:
    """The values of one scope in one transaction."""

    def __init__(self, resident: Resident, changes: Changes, settings: Settings) -> None:
        self._reader = changes.reader
        self._resident = resident
        self._turns = resident.turns  # the resident may read all anew meanwhile
        self._changes = changes
        self._given = settings
        self._is_on = bool(adjustable(settings))
        self._known = noted(self._reader) if self._is_on else None
        self._before = self._heads()  # of the pages that had left STM, in their order
        self._homes: dict[str, str] = {}  # page -> segment, of those that left it in this transaction

    @property
    def settings(self) -> Settings:
        """The settings as the scope uses them now."""
        return tuned(self._given, self._known)

    def placed(self, page_id: str, segment_id: str, mid_term: MidTerm) -> None:
        """A page found its segment; if the values are due, the next page is placed by new ones."""
        if not self._is_on:
            return
        self._homes[page_id] = segment_id
        pages = self._pages
        if pages < FIRST_PAGES or (self._known and not self._known.is_due(pages)):
            return
        formed_by = self._known.formed_by if self._known else self._given.segment_threshold
        self._note(calibrated(self._samples(mid_term), pages, formed_by))
        mid_term.settings = self.settings

    @property
    def asks_for_other_segments(self) -> bool:
        """Whether the segments should be formed anew before another page is placed."""
        is_free = "segment_threshold" in adjustable(self._given)
        return is_free and self._known is not None and self._known.asks_for_other_segments

    def formed(self) -> None:
        """The segments were formed anew."""
        if self._known:
            self._note(replace(self._known, formed_by=self.settings.segment_threshold))

    def _note(self, calibration: Calibration) -> None:
        self._known = calibration
        self._changes.note(NOTE, calibration.to_json())

    @property
    def _pages(self) -> int:
        """How many pages have left STM."""
        return len(self._before) + len(self._homes)

    def _heads(self) -> Ints:
        with self._resident.lock:
            return self._turns.heads(set(Tier) - {Tier.STM}) if self._is_on else np.zeros(0, np.int64)

    def _page(self, index: int, new: Sequence[str]) -> str:
        if index >= len(self._before):
            return new[index - len(self._before)]
        return self._turns.place(int(self._before[index]))[0]

    def _samples(self, mid_term: MidTerm) -> Samples:
        pages = self._sampled()
        topics = {topic.cube.id: topic for topic in mid_term}
        homes = self._home_of(pages)
        here = [page for page in pages if homes.get(page.cube.id) in topics]
        return Samples(
            near=[_f_score(one, two) for one, two in pairwise(pages) if one.precedes(two)],
            far=_strangers(pages),
            heats=[_lifetime(topic, self._given) for topic in topics.values()],
            depths=_depths(here, homes, mid_term, self._pages),
            ranks=_ranks(pages, self._pages),
        )

    def _sampled(self) -> list[_Sampled]:
        """Pairs of neighbours from all over the scope, each page once, in order."""
        starts, new = spread(range(self._pages - 1), PAIRS), list(self._homes)
        chosen = sorted({index for start in starts for index in (start, start + 1)})
        with self._resident.lock:
            ids = [self._page(index, new) for index in chosen]
        cubes = {cube.id: cube for cube in self._changes.get(ids)}
        vectors, turns = page_vectors(self._reader, ids), _turn_vectors(self._reader, ids)
        return [
            _Sampled.of(index, cubes[page], vectors[page], turns.get(page, ()))
            for index, page in zip(chosen, ids, strict=True)
            if page in cubes and page in vectors
        ]

    def _home_of(self, pages: Sequence[_Sampled]) -> dict[str, str]:
        """The segment of each of these pages, as it will be."""
        links = self._reader.targets((page.cube.id for page in pages), LinkKind.MEMBER_OF)
        return {link.source: link.target for link in links} | self._homes


@dataclass(frozen=True, slots=True)
class _Sampled:
    """A page of the sample."""

    index: int  # among the pages that were placed
    cube: MemCube
    probe: Probe
    turns: Sequence[Vector]

    @classmethod
    def of(cls, index: int, cube: MemCube, vector: Vector, turns: Sequence[Vector]) -> _Sampled:
        return cls(index, cube, Probe.of(vector, cube.behaviour.fingerprint), turns)

    def precedes(self, other: _Sampled) -> bool:
        """Whether the other page follows this one in the same sitting."""
        return other.index == self.index + 1 and self.shares_sitting(other)

    def shares_sitting(self, other: _Sampled) -> bool:
        """Whether two pages were said in one session without a long silence from one to the other."""
        pause = abs(micros(self.cube.descriptive.event_at) - micros(other.cube.descriptive.event_at))
        return self.cube.scope.session == other.cube.scope.session and pause <= SITTING_PAUSE


def spread(items: Sequence[T], count: int) -> list[T]:
    """At most `count` of the items, at even distances, the first and the last among them."""
    if len(items) <= count:
        return list(items)
    return [items[int(place)] for place in np.linspace(0, len(items) - 1, count)]


def _turn_vectors(reader: Reader, ids: Iterable[str]) -> dict[str, list[Vector]]:
    """The vectors of each page's turns, in order."""
    said: dict[str, list[Vector]] = {}
    for passage in reader.passages(ids):
        if passage.part:
            said.setdefault(passage.page, []).append(np.frombuffer(passage.vector, "<f2").astype(np.float32))
    return said


def _f_score(one: _Sampled, two: _Sampled) -> float:
    return float(one.probe.unit @ two.probe.unit) + jaccard(one.probe.stems, two.probe.stems)


def _strangers(pages: Sequence[_Sampled]) -> list[float]:
    """F_scores of pages of different sittings, drawn by chance, but the same for the same pages."""
    firsts, seconds = np.triu_indices(len(pages), k=1)
    drawn = np.random.default_rng(SEED).permutation(len(firsts))
    pairs = ((pages[firsts[place]], pages[seconds[place]]) for place in drawn)
    return [_f_score(one, two) for one, two in islice(_apart(pairs), STRANGERS)]


def _apart(pairs: Iterable[tuple[_Sampled, _Sampled]]) -> Iterator[tuple[_Sampled, _Sampled]]:
    return ((one, two) for one, two in pairs if not one.shares_sitting(two))


def _lifetime(topic: Topic, settings: Settings) -> tuple[float, int]:
    """The heat of a segment whose interactions had never been reset, but for recency; and its pages.

    Without recency it is the same whenever it is asked for, and below the heat that the segment had.
    """
    pages = segment_of(topic.cube).pages
    return settings.heat_visits * topic.cube.behaviour.visits + settings.heat_interactions * pages, pages


def _depths(pages: Sequence[_Sampled], homes: Mapping[str, str], mid_term: MidTerm, total: int) -> list[int]:
    """For each probe, the place of the last segment, best first, that holds one of the pages nearest to it.

    A probe is the first turn of a page, asked as a question is; its own page does not count. Of the `total` pages,
    some fill a context; the sample has its share of them.
    """
    if len(pages) < 2:
        return []
    units = np.stack([page.probe.unit for page in pages])
    nearest = min(max(round(CONTEXT_PAGES * len(pages) / total), 1), len(pages) - 1)
    found = []
    for row in spread([row for row, page in enumerate(pages) if page.turns], PROBES):
        first, words = pages[row].turns[0], keywords(turns_of(pages[row].cube)[0].words)
        places = {
            topic.cube.id: place
            for place, (topic, _) in enumerate(mid_term.rank(Probe.of(first, words), len(mid_term)), 1)
        }
        order = np.argsort(-(units @ first), kind="stable")
        found.append(max(places[homes[pages[other].cube.id]] for other in order[order != row][:nearest]))
    return found


def _ranks(pages: Sequence[_Sampled], total: int) -> list[int]:
    """For each exchange, how many of the `total` pages are as near to its first turn as its last turn is."""
    units = np.stack([page.probe.unit for page in pages])
    ranks = []
    for row, page in enumerate(pages):
        if len(page.turns) > 1:
            first, last = page.turns[0], page.turns[-1]
            closer = np.delete(units @ first > first @ last, row)
            ranks.append(1 + round(float(closer.mean()) * (total - 1)))
    return ranks
