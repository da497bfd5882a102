"""Sample: some pages of a scope, and statistics of their scores.

A turn of a page is asked as a question would be; how near the rest of the scope lies to it is what `tuning.py` makes
the values of. Pure functions over arrays: a calibration happens in the middle of moving pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memoryos.clock import micros
from memoryos.cube import MemCube
from memoryos.infrastructure.vault.records import Vector
from memoryos.language.words import keywords
from memoryos.operation.hierarchy.mid_term import MidTerm
from memoryos.operation.hierarchy.page_entries import turns_of
from memoryos.operation.hierarchy.score import Matrix, Probe, cosines, jaccard
from memoryos.operation.hierarchy.tuning import CONTEXT_PAGES
from memoryos.operation.index.turns import SITTING_PAUSE

STRANGERS = 512  # pairs of different sittings
PROBES = 64
SEED = 20231  # any fixed number: the same pages give the same values

T = TypeVar("T")
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampledPage:
    """A page of the sample."""

    index: int  #: among the pages that were placed
    cube: MemCube
    probe: Probe
    turns: Sequence[Vector]
    said_at: int  #: microseconds since the epoch

    @classmethod
    def of(cls, index: int, cube: MemCube, vector: Vector, turns: Sequence[Vector]) -> SampledPage:
        """A page with its vector, and those of its turns."""
        probe = Probe.of(vector, cube.behaviour.fingerprint)
        return cls(index, cube, probe, turns, micros(cube.descriptive.event_at))


def neighbours(pages: Sequence[SampledPage]) -> list[float]:
    """F_scores of pages that follow each other in a sitting."""
    indexes = np.array([page.index for page in pages])
    firsts = np.flatnonzero(np.diff(indexes) == 1)
    firsts = firsts[~_apart(pages, firsts, firsts + 1)]
    return _f_scores(pages, firsts, firsts + 1)


def strangers(pages: Sequence[SampledPage]) -> list[float]:
    """F_scores of random pairs from different sittings; the same pages give the same pairs."""
    firsts, seconds = np.triu_indices(len(pages), k=1)
    drawn = np.random.default_rng(SEED).permutation(len(firsts))
    drawn = drawn[_apart(pages, firsts[drawn], seconds[drawn])][:STRANGERS]
    return _f_scores(pages, firsts[drawn], seconds[drawn])


def _apart(pages: Sequence[SampledPage], firsts: NDArray[np.intp], seconds: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which pairs were said in different sessions, or with a long silence between them."""
    names: dict[str | None, int] = {}
    sessions = np.array([names.setdefault(page.cube.scope.session, len(names)) for page in pages], np.int64)
    said_at = np.array([page.said_at for page in pages], np.int64)
    is_later = np.abs(said_at[firsts] - said_at[seconds]) > SITTING_PAUSE
    return np.asarray((sessions[firsts] != sessions[seconds]) | is_later, np.bool_)


def _f_scores(pages: Sequence[SampledPage], firsts: NDArray[np.intp], seconds: NDArray[np.intp]) -> list[float]:
    return [
        float(pages[one].probe.unit @ pages[two].probe.unit) + jaccard(pages[one].probe.stems, pages[two].probe.stems)
        for one, two in zip(firsts.tolist(), seconds.tolist(), strict=True)
    ]


class Inquiry:
    """First turns of pages in MTM, used as questions; a page is not an answer to its own turn."""

    def __init__(self, pages: Sequence[SampledPage], share: float) -> None:
        """The pages are a sample of those in MTM, and such a share of them."""
        self._pages = pages
        self._share = share
        self._rows = spread([row for row, page in enumerate(pages) if page.turns], PROBES) if len(pages) > 1 else []
        self._asked = [_probe(pages[row], 0) for row in self._rows]
        self._cosines = _cosines(self._asked, [page.probe for page in pages])
        self._jaccards = _jaccards(self._asked, [page.probe for page in pages])
        self._answered = [place for place, row in enumerate(self._rows) if len(pages[row].turns) > 1]
        self._answers = self._fit([_probe(pages[self._rows[place]], -1) for place in self._answered])

    def ranks(self, weight: float) -> list[int]:
        """For each exchange, the place of its last turn among the pages as they are ranked for its first turn."""
        if not self._answered:
            return []
        own = self._answers[0] + weight * self._answers[1]
        nearer = (self._scores(weight)[self._answered] > own[:, None]).sum(axis=1)
        others, total = len(self._pages) - 1, len(self._pages) / self._share - 1
        return [1 + round(count / others * total) for count in nearer.tolist()]

    def depths(self, homes: Mapping[str, str], mid_term: MidTerm, weight: float) -> list[int]:
        """For each probe, the place of the last segment, best first, that holds one of the pages ranked first for it.

        They are as many as fill a context, or their share in the sample.
        """
        if not self._rows:
            return []
        topics = {topic.cube.id: number for number, topic in enumerate(mid_term)}
        home_of = np.array([topics[homes[page.cube.id]] for page in self._pages])
        segments = [topic.probe for topic in mid_term]
        scores = _cosines(self._asked, segments) + _jaccards(self._asked, segments)
        places = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable") + 1
        count = min(max(round(CONTEXT_PAGES * self._share), 1), len(self._pages) - 1)
        nearest = np.argsort(-self._scores(weight), axis=1, kind="stable")[:, :count]
        return [int(found) for found in np.take_along_axis(places, home_of[nearest], axis=1).max(axis=1)]

    def _fit(self, answers: Sequence[Probe]) -> tuple[Scores, Scores]:
        """Cosine and Jaccard of each answer and the turn that it answers, shapes (answers,)."""
        pairs = [(self._asked[place], answer) for place, answer in zip(self._answered, answers, strict=True)]
        cosines = [float(one.unit @ answer.unit) for one, answer in pairs]
        return np.array(cosines), np.array([jaccard(one.stems, answer.stems) for one, answer in pairs])

    def _scores(self, weight: float) -> Scores:
        """How well each page fits each probe, shape (probes, pages); below everything for the probe's own page."""
        scores = self._cosines + weight * self._jaccards
        scores[np.arange(len(self._rows)), self._rows] = -np.inf
        return scores


def _probe(page: SampledPage, turn: int) -> Probe:
    """A turn as a question is compared; its vector as it is stored."""
    return Probe.of(page.turns[turn], keywords(turns_of(page.cube)[turn].words))


def _cosines(asked: Sequence[Probe], others: Sequence[Probe]) -> Scores:
    if not asked:
        return np.zeros((0, len(others)))
    return cosines(_units(asked), _units(others)).astype(np.float64)


def _units(probes: Sequence[Probe]) -> Matrix:
    return np.stack([probe.unit for probe in probes])


def _jaccards(asked: Sequence[Probe], others: Sequence[Probe]) -> Scores:
    """The Jaccard of each pair, shape (asked, others): most share nothing, so they are found by the stems."""
    having: dict[str, list[int]] = {}
    for place, other in enumerate(others):
        for stem in other.stems:
            having.setdefault(stem, []).append(place)
    sizes = np.array([len(other.stems) for other in others])
    found = np.zeros((len(asked), len(others)))
    for row, one in zip(found, asked, strict=True):
        places = [place for stem in one.stems for place in having.get(stem, ())]
        both = np.bincount(places, minlength=len(others)) if places else np.zeros(len(others))
        np.divide(both, np.maximum(sizes + len(one.stems) - both, 1), out=row)
    return found


def spread(items: Sequence[T], count: int) -> list[T]:
    """At most `count` of the items, evenly spaced, with the first and the last."""
    if len(items) <= count:
        return list(items)
    return [items[int(place)] for place in np.linspace(0, len(items) - 1, count)]
