"""Two-stage search: STM whole; the best segments by F_score, then their best pages by cosine.

MemoryOS paper, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType

from memoryos.config import Settings
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.contract import Reader, Vector
from memoryos.operation.index.resident import Resident
from memoryos.operation.passages import page_vectors
from memoryos.operation.recall.filters import Admitted, Filters
from memoryos.operation.recall.fusion import Asked
from memoryos.operation.recall.hit import NO_PARTS, TurnHit
from memoryos.operation.recall.topics import Fit, Home, fits


@dataclass(frozen=True, slots=True)
class _Found:
    page: MemCube
    cosine: float
    parts: dict[str, float]  # beside the cosine
    home: Home

    def turn(self, index: int, *, explain: bool) -> TurnHit:
        parts = MappingProxyType({"cosine": self.cosine, **self.parts}) if explain else NO_PARTS
        return TurnHit(self.page, index, self.cosine, parts)


def two_stage(
    reader: Reader,
    resident: Resident,
    asked: Asked,
    pages: int,
    filters: Filters,
    settings: Settings,
    *,
    explain: bool,
) -> tuple[list[TurnHit], dict[str, Home]]:
    """The turns of the pages found, best page first, and where these pages lie."""
    with resident.lock:
        admitted = filters.admitted(resident.turns)
        told = fits(reader, resident, asked, filters, admitted, settings)
        chosen = _enough(told, settings.recall_segments, pages)
        found = [*_short_term(resident, asked, admitted), *_mid_term(reader, chosen, asked, pages)]
        found.sort(key=lambda one: -one.cosine)
        turns = [one.turn(index, explain=explain) for one in found for index in admitted.turns(one.page.id)]
    return turns, {one.page.id: one.home for one in found}


def _short_term(resident: Resident, asked: Asked, admitted: Admitted) -> Iterator[_Found]:
    for entry in resident.recent:
        if admitted.turns(entry.cube.id):
            yield _Found(entry.cube, cosine(entry.vector, asked.vector), {}, Home())


def _enough(ranked: Iterable[Fit], segments: int, pages: int) -> list[Fit]:
    """The best topics, and more of them when filters left out pages of these and the others are too few."""
    chosen: list[Fit] = []
    is_whole = True
    for fit in ranked:
        is_whole = is_whole and fit.is_whole
        if fit.pages:
            chosen.append(fit)
        if len(chosen) >= segments and (is_whole or sum(len(one.pages) for one in chosen) >= pages):
            break
    return chosen


def _mid_term(reader: Reader, chosen: Iterable[Fit], asked: Asked, pages: int) -> Iterator[_Found]:
    fit_of = {page: fit for fit in chosen for page in fit.pages}
    vectors = page_vectors(reader, fit_of)
    cosines = {page: cosine(vectors.get(page), asked.vector) for page in fit_of}
    best = sorted(cosines, key=lambda page: -cosines[page])[:pages]
    cubes = reader.get(best)
    for page in best:
        yield _Found(cubes[page], cosines[page], fit_of[page].parts, fit_of[page].home)


def cosine(vector: Vector | None, question: Vector) -> float:
    """Both are unit vectors, or one is missing."""
    return 0.0 if vector is None else float(vector @ question)
