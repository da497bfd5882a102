"""Calibrator: when the values of a scope are due, and the samples that they are made of.

One serves one `Pager`. A calibration happens after a certain number of pages, in the
middle of a transaction if need be: so the same pages give the same values, however many of them came at a time and
whichever process moved them. The values are noted in the store, so that every process uses the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memoryos.config import Settings
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Tier
from memoryos.operation.hierarchy.changes import Changes
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, segment_of
from memoryos.operation.hierarchy.tuning import (
    FIRST_PAGES,
    WEIGHTS,
    Calibration,
    Samples,
    adjustable,
    best_weight,
    calibrated,
    tuned,
)
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import Ints
from memoryos.operation.paging.sample import Inquiry, SampledPage, neighbours, spread, strangers

NOTE = "calibration"
PAIRS = 128  # of neighbours, so at most twice as many pages are read


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
        """Record that a page was placed; recalibrate before the next page if it is time."""
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
        """Record that the segments were formed again."""
        if self._known:
            self._note(replace(self._known, formed_by=self.settings.segment_threshold))

    def _note(self, calibration: Calibration) -> None:
        self._known = calibration
        self._changes.note(NOTE, calibration.to_json())

    @property
    def _pages(self) -> int:
        """The number of pages that left STM."""
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
        inquiry = Inquiry(here, len(pages) / self._pages)
        ranks = {weight: inquiry.ranks(weight) for weight in self._weights}
        return Samples(
            near=neighbours(pages),
            far=strangers(pages),
            heats=[_lifetime(topic, self._given) for topic in topics.values()],
            depths=inquiry.depths(homes, mid_term, best_weight(ranks)),
            ranks=ranks,
        )

    @property
    def _weights(self) -> Sequence[float]:
        """The candidate weights of keywords; only one if the setting is given."""
        return WEIGHTS if "keyword_weight" in adjustable(self._given) else (self._given.keyword_weight,)

    def _sampled(self) -> list[SampledPage]:
        """Pairs of neighbouring pages, spread over the scope, each page once, in order."""
        starts, new = spread(range(self._pages - 1), PAIRS), list(self._homes)
        chosen = sorted({index for start in starts for index in (start, start + 1)})
        with self._resident.lock:
            ids = [self._page(index, new) for index in chosen]
        cubes = {cube.id: cube for cube in self._changes.get(ids)}
        vectors = self._resident.page_vectors(self._reader, ids)
        turns = self._resident.turn_vectors(self._reader, ids)
        return [
            SampledPage.of(index, cubes[page], vectors[page], turns.get(page, ()))
            for index, page in zip(chosen, ids, strict=True)
            if page in cubes and page in vectors
        ]

    def _home_of(self, pages: Sequence[SampledPage]) -> dict[str, str]:
        """The segment of each of these pages, with the pending changes."""
        links = self._reader.targets((page.cube.id for page in pages), LinkKind.MEMBER_OF)
        return {link.source: link.target for link in links} | self._homes


def _lifetime(topic: Topic, settings: Settings) -> tuple[float, int]:
    """The heat of a segment whose interactions had never been reset, but for recency; and its pages.

    Without recency it is the same whenever it is asked for, and below the heat that the segment had.
    """
    pages = segment_of(topic.cube).pages
    return settings.heat_visits * topic.cube.behaviour.visits + settings.heat_interactions * pages, pages
