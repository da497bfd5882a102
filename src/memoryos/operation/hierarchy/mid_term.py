"""MTM: topic segments, and which page goes where (MemoryOS paper, section 3.2).

Values in, values out: nothing here touches a store. A segment's centroid is the plain mean of its
pages' vectors, so that a page can be added without reading the others.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from uuid_utils.compat import uuid7

from memoryos.config import Settings
from memoryos.cube import Behaviour, Descriptive, MemCube, Page, Segment
from memoryos.explained import altered
from memoryos.infrastructure.vault.records import Entry, Vector
from memoryos.kinds import Origin, SemanticType, Tier
from memoryos.language.summary import extended
from memoryos.language.words import stem
from memoryos.operation.hierarchy.heat import heat, is_hot
from memoryos.operation.hierarchy.score import FScore, Probe
from memoryos.operation.hierarchy.shelf import Shelf

SEGMENT_KEYWORDS = 12  # K_s: the most frequent keywords; more would only dilute Jaccard
COUNTED_KEYWORDS = 48  # kept with their counts, so that a late topic word can still rise
SUMMARY_CHARS = 360  # three sentences, beside what a model wrote
FIRST_LOOK = 32  # pages of a segment that is looked at for repair for the first time; a power of two

_Coldness = tuple[float, datetime, str]  # heat, last access and id


@dataclass(frozen=True, slots=True)
class Topic:
    """A segment with its centroid, and the probe made of the centroid and K_s, for comparison."""

    cube: MemCube
    centroid: Vector
    probe: Probe

    @classmethod
    def of(cls, cube: MemCube, centroid: Vector) -> Topic:
        """The topic of a segment."""
        return cls(cube, centroid, Probe.of(centroid, top_keywords(segment_of(cube))))

    @property
    def entry(self) -> Entry:
        """The segment as the vault stores it."""
        return Entry(self.cube, self.centroid)


class MidTerm:
    """The segments of one owner."""

    def __init__(self, topics: Iterable[Topic], settings: Settings) -> None:
        self._topics = {topic.cube.id: topic for topic in topics}
        self._shelf: Shelf | None = None  # of the topics; made when needed
        self.settings = settings  # may change between two pages
        self._colds: dict[str, _Coldness] = {}  # of the topics, as far as they are known
        self._cold_at: datetime | None = None  # for which moment, and by which settings
        self._cold_by = settings

    def __len__(self) -> int:
        return len(self._topics)

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._topics.values())

    def get(self, segment_id: str) -> Topic | None:
        """The topic with that id, if it is in MTM."""
        return self._topics.get(segment_id)

    def put(self, topic: Topic) -> None:
        """Add a topic, or replace it."""
        if self._shelf:
            self._shelf.put(topic.cube.id, topic.probe)
        self._topics[topic.cube.id] = topic
        self._colds.pop(topic.cube.id, None)

    def rank(self, probe: Probe, limit: int) -> list[tuple[Topic, FScore]]:
        """The `limit` topics with the highest F_score, best first."""
        topics = list(self)
        if not topics:
            return []
        self._shelf = self._shelf or Shelf({topic.cube.id: topic.probe for topic in topics})
        scores = self._shelf.f_scores(probe)
        return [(topics[index], scores[index]) for index in scores.best(limit)]

    def home_of(self, page: Entry) -> Topic | None:
        """The segment the page joins: the best F_score, if it is above theta."""
        best = self.rank(Probe.of(page.known_vector, page.cube.behaviour.fingerprint), 1)
        return best[0][0] if best and best[0][1].total > self.settings.segment_threshold else None

    def is_hot(self, topic: Topic, now: datetime) -> bool:
        """Whether the segment should be extracted into LPM."""
        return is_hot(topic.cube.behaviour, now, self.settings)

    @property
    def surplus(self) -> int:
        """The number of segments above the capacity."""
        return max(0, len(self._topics) - self.settings.mid_term_capacity)

    def evict(self, now: datetime, *, spared: Set[str]) -> list[Topic]:
        """Remove the coldest segments until the capacity is kept; the `spared` always stay."""
        candidates = self._topics.keys() - spared
        coldest = heapq.nsmallest(self.surplus, candidates, key=self._coldness(candidates, now).__getitem__)
        if self._shelf and coldest:
            self._shelf.remove(set(coldest))
        return [self._topics.pop(name) for name in coldest]

    def _coldness(self, names: Set[str], now: datetime) -> dict[str, _Coldness]:
        """What these segments are compared by, the coldest first: with each page that comes, if there are too many."""
        if now != self._cold_at or self.settings is not self._cold_by:
            self._colds, self._cold_at, self._cold_by = {}, now, self.settings
        for name in names - self._colds.keys():
            behaviour = self._topics[name].cube.behaviour
            self._colds[name] = heat(behaviour, now, self.settings), behaviour.last_access, name
        return self._colds


def has_doubled(topic: Topic) -> bool:
    """Whether a segment that got a page has twice as many pages as at the last repair check."""
    pages = segment_of(topic.cube).pages
    return pages >= FIRST_LOOK and pages.bit_count() == 1


def segment_of(cube: MemCube) -> Segment:
    """The payload of a cube that is known to be a segment."""
    if not isinstance(cube.payload, Segment):
        raise TypeError(f"cube {cube.id} is a {cube.kind.value}, not a segment")
    return cube.payload


def page_of(cube: MemCube) -> Page:
    """The payload of a cube that is known to be a page."""
    if not isinstance(cube.payload, Page):
        raise TypeError(f"cube {cube.id} is a {cube.kind.value}, not a page")
    return cube.payload


def top_keywords(segment: Segment) -> tuple[str, ...]:
    """K_s: the segment's most frequent keywords."""
    return tuple([word for word, _ in segment.keywords[:SEGMENT_KEYWORDS]])


def joined(topic: Topic, page: Entry, now: datetime) -> Topic:
    """The topic after `page` joined it, with updated centroid, keywords, summary, time span and counters.

    The first page after all others were read begins a new version: the one before stays as a reading left it.
    """
    payload = _with(segment_of(topic.cube), page.cube)
    at = page.cube.descriptive.event_at
    behaviour = altered(
        topic.cube.behaviour,
        interactions=topic.cube.behaviour.interactions + 1,
        last_access=max(topic.cube.behaviour.last_access, at),
    )
    cube = altered(
        topic.cube,
        payload=payload,
        behaviour=behaviour,
        descriptive=altered(topic.cube.descriptive, updated_at=now, event_at=payload.first_at),
        version=altered(topic.cube.version, number=topic.cube.version.number + (not topic.cube.behaviour.interactions)),
    )
    centroid = topic.centroid + (page.known_vector - topic.centroid) / np.float32(payload.pages)
    return Topic.of(cube, centroid)


def opened(page: Entry, now: datetime) -> Topic:
    """A new topic with its first page."""
    at = page.cube.descriptive.event_at
    cube = MemCube(
        id=str(uuid7()),
        scope=page.cube.scope.owner,
        tier=Tier.MTM,
        payload=formed([page.cube]),
        descriptive=Descriptive(
            event_at=at,
            recorded_at=now,
            updated_at=now,
            origin=Origin.INFERENCE,
            semantic_type=SemanticType.TOPIC,
        ),
        behaviour=Behaviour(last_access=at, interactions=1),
    )
    return Topic.of(cube, page.known_vector)


def formed(pages: Sequence[MemCube]) -> Segment:
    """The segment that these pages form: the same as if they had joined one after the other."""
    first, *others = pages
    at = first.descriptive.event_at
    segment = _with(Segment(summary="", keywords=(), pages=0, first_at=at, last_at=at), first)
    for page in others:
        segment = _with(segment, page)
    return segment


def _with(segment: Segment, page: MemCube) -> Segment:
    """The segment with one more page: keywords, summary and time span are updated from that page."""
    at = page.descriptive.event_at
    counted = _counted(segment.keywords, page)
    return altered(
        segment,
        summary=_extended(segment, page, counted),
        keywords=tuple(counted.values()),
        pages=segment.pages + 1,
        first_at=min(segment.first_at, at),
        last_at=max(segment.last_at, at),
    )


def _extended(segment: Segment, page: MemCube, keywords: Mapping[str, tuple[str, int]]) -> str:
    """The summary, extended by the page; the words of a model stay."""
    weights = {form: float(count) for form, (_, count) in keywords.items()}
    said = (turn.words for turn in page_of(page).turns)
    return extended(segment.summary, said, limit_chars=SUMMARY_CHARS, weights=weights, written=segment.written)


def _counted(keywords: Iterable[tuple[str, int]], page: MemCube) -> dict[str, tuple[str, int]]:
    """The keywords with their counts after one more page, most frequent first, by their stems."""
    counted = {stem(one[0]): one for one in keywords}
    for word in page.behaviour.fingerprint:
        surface, count = counted.get(form := stem(word), (word, 0))
        counted[form] = surface, count + 1
    counts = {form: count for form, (_, count) in counted.items()}
    frequent = sorted(counts, key=counts.__getitem__, reverse=True)  # stable: those seen first come first
    return {form: counted[form] for form in frequent[:COUNTED_KEYWORDS]}
