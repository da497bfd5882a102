"""Two-stage search: STM whole; the best segments by F_score, then their best pages by cosine.

MemoryOS paper, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

from memoryos.config import Settings
from memoryos.cube import Kind, MemCube, Tier
from memoryos.infrastructure.vault.contract import LinkKind, Reader, Vector
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.mid_term import MidTerm, Topic
from memoryos.operation.hierarchy.score import FScore, Probe
from memoryos.operation.index.resident import Resident
from memoryos.operation.passages import turns_of
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import TurnHit
from memoryos.operation.recall.topics import Home, topic_name


@dataclass(frozen=True, slots=True)
class _Found:
    page: MemCube
    parts: dict[str, float]
    home: Home


def two_stage(
    reader: Reader, resident: Resident, asked: Asked, pages: int, settings: Settings, *, archive: bool
) -> tuple[list[TurnHit], dict[str, Home]]:
    """The turns of the pages found, best page first, and where these pages lie."""
    found = [*_short_term(resident, asked), *_mid_term(reader, resident, asked, pages, settings, archive=archive)]
    found.sort(key=lambda one: -one.parts["cosine"])
    turns = [
        TurnHit(one.page, index, one.parts["cosine"], MappingProxyType(one.parts))
        for one in found
        for index in range(len(turns_of(one.page)))
    ]
    return turns, {one.page.id: one.home for one in found}


def _short_term(resident: Resident, asked: Asked) -> Iterator[_Found]:
    for entry in resident.recent:
        yield _Found(entry.cube, {"cosine": cosine(entry.vector, asked.vector)}, Home())


def _mid_term(
    reader: Reader, resident: Resident, asked: Asked, pages: int, settings: Settings, *, archive: bool
) -> Iterator[_Found]:
    probe = Probe.of(asked.vector, keywords(asked.text))
    topics = MidTerm(_topics(reader, resident, archive=archive), settings)
    chosen = {topic.cube.id: (topic, fit) for topic, fit in topics.rank(probe, settings.recall_segments)}
    home_of = {link.source: link.target for link in reader.sources(chosen, LinkKind.MEMBER_OF)}
    vectors = reader.vectors(home_of)
    cosines = {page: cosine(vectors.get(page), asked.vector) for page in home_of}
    best = sorted(cosines, key=lambda page: -cosines[page])[:pages]
    cubes = reader.get(best)
    for page in best:
        topic, fit = chosen[home_of[page]]
        yield _Found(cubes[page], _parts(cosines[page], fit), Home(topic.cube.id, topic_name(topic.cube)))


def _topics(reader: Reader, resident: Resident, *, archive: bool) -> Iterable[Topic]:
    yield from resident.topics
    if archive:
        cubes = reader.cubes(Kind.SEGMENT, tiers=[Tier.ARCHIVE])
        centroids = reader.vectors(cube.id for cube in cubes)
        yield from (Topic.of(cube, centroids[cube.id]) for cube in cubes)


def _parts(cosine: float, fit: FScore) -> dict[str, float]:
    return {"cosine": cosine, "segment_cosine": fit.cosine, "segment_jaccard": fit.jaccard}


def cosine(vector: Vector | None, question: Vector) -> float:
    """Both are unit vectors, or one is missing."""
    return 0.0 if vector is None else float(vector @ question)
