"""The segments that pages lie in, and those that fit a question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from memoryos.clock import micros
from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import LinkKind
from memoryos.kinds import Kind, Tier
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic, segment_of, top_keywords
from memoryos.operation.hierarchy.score import FScore, Probe
from memoryos.operation.index.resident import Resident
from memoryos.operation.recall.filters import Admitted, Filters
from memoryos.operation.recall.fusion import Asked

TOPIC_WORDS = 4  # keywords that name a topic to a reader


@dataclass(frozen=True, slots=True)
class Home:
    """Where a page lies; nowhere while it is in STM."""

    segment: str | None = None
    topic: str = "recent"


UNTOLD = Home(topic="")  # to who may read only a part of the memory


@dataclass(frozen=True, slots=True)
class Fit:
    """A topic with how well it fits a question, and its pages that may be found."""

    topic: Topic
    score: FScore
    pages: tuple[str, ...]
    is_whole: bool  #: whether these are all its pages
    is_named: bool = True  #: whether its keywords may be shown: none is of a page that has expired

    @property
    def home(self) -> Home:
        """The topic as the home of its pages."""
        return Home(self.topic.cube.id, topic_name(self.topic.cube) if self.is_named else "")

    @property
    def parts(self) -> dict[str, float]:
        """The parts of the F_score."""
        return {"cosine": self.score.cosine, "jaccard": self.score.jaccard}


def homes(reader: Reader, resident: Resident, pages: Iterable[str], now: datetime) -> dict[str, Home]:
    """The segment of each page that is in one, as far as the caller may know it; unnamed if a page has expired."""
    if reader.whole is not reader:
        return dict.fromkeys(pages, UNTOLD)
    with resident.lock:
        segments = {page: segment for page in dict.fromkeys(pages) if (segment := resident.turns.segment_of(page))}
        known = {segment: resident.held(segment) for segment in dict.fromkeys(segments.values())}
        ended = _ended(resident, now)
    read = reader.get(segment for segment, cube in known.items() if cube is None)
    archived = {
        segment: cube for segment, cube in read.items() if cube.kind is Kind.SEGMENT
    }  # a damaged link's is none
    found = {
        segment: Home(segment, "" if segment in ended else topic_name(cube or archived.get(segment)))
        for segment, cube in known.items()
    }
    return {page: found[segment] for page, segment in segments.items()}


def fits(
    reader: Reader, resident: Resident, asked: Asked, filters: Filters, admitted: Admitted, settings: Settings
) -> Iterator[Fit]:
    """All topics, the one with the highest F_score first; read a few at a time, then more."""
    topics = MidTerm(_topics(reader, resident, filters), settings)
    ranked = topics.rank(Probe.of(asked.vector, keywords(asked.text)), len(topics))
    start, size = 0, settings.recall_segments
    ended = _ended(resident, filters.now)
    while some := ranked[start : start + size]:
        members: dict[str, list[str]] = {}
        for link in reader.sources((topic.cube.id for topic, _ in some), LinkKind.MEMBER_OF):
            members.setdefault(link.target, []).append(link.source)
        for topic, score in some:
            pages = members.get(topic.cube.id, [])
            found = tuple(page for page in pages if admitted.turns(page))
            yield Fit(topic, score, found, len(found) == len(pages), topic.cube.id not in ended)
        start, size = start + size, 2 * size


def _ended(resident: Resident, now: datetime) -> set[str | None]:
    """The topics with a page that has expired and is not swept yet: their keywords may be of that page."""
    return resident.turns.facets.ended_segments(micros(now), resident.turns.alive)


def _topics(reader: Reader, resident: Resident, filters: Filters) -> Iterator[Topic]:
    if Tier.MTM in filters.tiers:
        yield from resident.topics
    if Tier.ARCHIVE in filters.tiers:
        cubes = reader.cubes(Kind.SEGMENT, tiers=[Tier.ARCHIVE])
        centroids = reader.vectors(cube.id for cube in cubes)
        yield from (Topic.of(cube, centroids[cube.id]) for cube in cubes)


def topic_name(segment: MemCube | None) -> str:
    """A few keywords that name a segment."""
    return ", ".join(top_keywords(segment_of(segment))[:TOPIC_WORDS]) if segment else ""
