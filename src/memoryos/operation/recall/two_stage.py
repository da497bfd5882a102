"""Two-stage search: STM whole; the best segments by F_score, then their best pages.

Who may read only a part of a memory has no segments, which all pages formed: the turns nearest in meaning choose the
pages instead.

With `as_of`, the segments are those of now, and each page counts with what had been said by then.

MemoryOS paper, section 3.4: pages are ranked by cosine, which is what they are when `keyword_weight` is 0. Words that
are in the question as they were said, such as names, tell more than the vectors know; so a scope may give the keywords
that a page shares with the question a weight of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader
from memoryos.infrastructure.vault.records import Vector
from memoryos.language.words import keywords, stems
from memoryos.operation.hierarchy.page_entries import page_vectors
from memoryos.operation.hierarchy.score import jaccard
from memoryos.operation.index.resident import Resident
from memoryos.operation.recall.filters import Admitted, Filters
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import TurnHit
from memoryos.operation.recall.topics import UNTOLD, Fit, Home, fits

_NEAREST = 4  # times as many pages as wanted are looked at where there are no segments

Read = Callable[[Iterable[str]], Mapping[str, MemCube]]
Vectors = Callable[[Iterable[str]], Mapping[str, Vector]]


@dataclass(frozen=True, slots=True)
class _Found:
    page: MemCube
    score: float
    parts: dict[str, float]
    home: Home

    def turn(self, index: int, *, explain: bool) -> TurnHit:
        parts = dict(self.parts) if explain else {}
        return TurnHit(self.page, index, self.score, parts)


@dataclass(frozen=True, slots=True)
class _Judge:
    """Scores how well a page fits the question."""

    asked: Vector
    stems: frozenset[str]
    weight: float  # of the keywords

    @classmethod
    def of(cls, asked: Asked, weight: float) -> _Judge:
        return cls(asked.vector, stems(keywords(asked.text)) if weight else frozenset(), weight)

    def found(self, page: MemCube, cosine: float, home: Home) -> _Found:
        """The page with its score."""
        if not self.weight:
            return _Found(page, cosine, {"cosine": cosine}, home)
        shared = self.weight * jaccard(stems(page.behaviour.fingerprint), self.stems)
        return _Found(page, cosine + shared, {"cosine": cosine, "jaccard": shared}, home)


def two_stage(
    reader: Reader,
    resident: Resident,
    asked: Asked,
    pages: int,
    filters: Filters,
    settings: Settings,
    read: Read,
    *,
    explain: bool,
) -> tuple[list[TurnHit], dict[str, Home], tuple[str, ...]]:
    """The turns of the found pages, best page first; the segments of these pages; the ids of the chosen segments.

    `read` returns pages as they are found.
    """
    with resident.lock:
        admitted = filters.admitted(resident.turns)
        is_part = filters.classes is not None
        told = [] if is_part else fits(reader, resident, asked, filters, admitted, settings)
        chosen = _enough(told, settings.recall_segments, pages)
        judge = _Judge.of(asked, settings.keyword_weight)
        vectors = partial(page_vectors, reader) if not filters.looks_back else admitted.directions
        if is_part:
            homes = dict.fromkeys(admitted.nearest_pages(asked.vector, _NEAREST * pages), UNTOLD)
            found = _best(homes, judge, pages, vectors, read)
        else:
            homes = {page: fit.home for fit in chosen for page in fit.pages}
            found = [*_short_term(resident, judge, admitted, read), *_best(homes, judge, pages, vectors, read)]
        found.sort(key=lambda one: -one.score)
        turns = [one.turn(index, explain=explain) for one in found for index in admitted.turns(one.page.id)]
    return turns, {one.page.id: one.home for one in found}, tuple(fit.topic.cube.id for fit in chosen)


def _short_term(resident: Resident, judge: _Judge, admitted: Admitted, read: Read) -> Iterator[_Found]:
    recent = [entry for entry in resident.recent if admitted.turns(entry.cube.id)]
    cubes = read(entry.cube.id for entry in recent)
    for entry in recent:
        if entry.cube.id in cubes:
            yield judge.found(cubes[entry.cube.id], cosine(entry.vector, judge.asked), Home())


def _enough(ranked: Iterable[Fit], segments: int, pages: int) -> list[Fit]:
    """The best topics, and more if the filters leave too few of their pages."""
    chosen: list[Fit] = []
    is_whole = True
    for fit in ranked:
        is_whole = is_whole and fit.is_whole
        if fit.pages:
            chosen.append(fit)
        if len(chosen) >= segments and (is_whole or sum(len(one.pages) for one in chosen) >= pages):
            break
    return chosen


def _best(homes: Mapping[str, Home], judge: _Judge, pages: int, vectors: Vectors, read: Read) -> list[_Found]:
    """The best of these pages; without a keyword weight only the best are read."""
    known = vectors(homes)
    cosines = {page: cosine(known.get(page), judge.asked) for page in homes}
    nearest = sorted(cosines, key=lambda page: -cosines[page])
    wanted = nearest if judge.weight else nearest[:pages]
    cubes = read(wanted)
    found = [judge.found(cubes[page], cosines[page], homes[page]) for page in wanted if page in cubes]
    return sorted(found, key=lambda one: -one.score)[:pages]


def cosine(vector: Vector | None, question: Vector) -> float:
    """The cosine of two unit vectors; one may be missing."""
    return 0.0 if vector is None else float(vector @ question)
