"""Search: from a question to ranked turns, their pages, facts and profile.

No model is called but the embedder, and nothing is written: the caller records the visits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType

import numpy as np

from memoryos.clock import micros
from memoryos.config import Settings
from memoryos.cube import Kind, MemCube, Subject, Tier
from memoryos.infrastructure.vault.contract import Entry, Reader, Vector
from memoryos.models.reranker import Reranker
from memoryos.operation.index.resident import Resident
from memoryos.operation.index.turns import Flags, Ints, TurnIndex
from memoryos.operation.passages import turns_of
from memoryos.operation.recall.fusion import DEFAULT_WEIGHTS, Asked, Scores, Weights, scored
from memoryos.operation.recall.hit import Hit, Recall, Strategy, TurnHit
from memoryos.operation.recall.moment import cube_at, entries_at
from memoryos.operation.recall.topics import Home, homes
from memoryos.operation.recall.two_stage import cosine, two_stage

_DECIMALS = 5  # of a score: what differs less is a tie, for sums differ by their order in the last bits
_AT_FIRST = 4  # turns that are sorted for each page wanted; more when that is not enough


@dataclass(frozen=True, slots=True)
class Search:
    """How to search."""

    strategy: Strategy
    pages: int
    archive: bool = False  #: whether evicted memory is searched too
    weights: Weights = DEFAULT_WEIGHTS
    since: datetime | None = None  #: nothing that was said before
    until: datetime | None = None  #: nor after
    reranker: Reranker | None = None  #: puts the turns that were found in its own order
    as_of: datetime | None = None  #: the memory as it was then

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Where pages are looked for."""
        return (Tier.STM, Tier.MTM, Tier.ARCHIVE) if self.archive else (Tier.STM, Tier.MTM)

    def allows(self, index: TurnIndex) -> Flags:
        """Which rows may be found: filters come before the ranking, so they never shorten what is found, shape (n,)."""
        allowed = index.in_tiers(self.tiers)
        if self.since:
            allowed &= index.said_at >= micros(self.since)
        for end in (self.until, self.as_of):
            if end:
                allowed &= index.said_at <= micros(end)
        return allowed


@dataclass(frozen=True, slots=True)
class Source:
    """Where an owner's memory is read: the store and what is resident of it."""

    reader: Reader
    resident: Resident


def recall(owner: Source, persona: Source, asked: Asked, search: Search, settings: Settings) -> Recall:
    """Everything the three tiers hold for the question; `persona` is where the user's persona lives."""
    if search.strategy is Strategy.TWO_STAGE:
        turns, found = two_stage(owner.reader, owner.resident, asked, search.pages, settings, archive=search.archive)
    else:
        turns = _ranked(owner, asked, search)
        found = homes(owner.reader, owner.resident, [turn.cube.id for turn in turns])
    turns = _reranked(turns, asked, search.reranker)
    then = search.as_of
    recent = entries_at(owner.reader, owner.resident.recent, then)
    user_facts = _held(persona, Kind.FACT, Subject.USER, then)
    agent_facts = _held(owner, Kind.FACT, Subject.AGENT, then)
    return Recall(
        query=asked.text,
        hits=tuple(_pages(turns, found)),
        turns=tuple(turns),
        recent=tuple(_by_cosine(entry, asked.vector, "recent") for entry in recent),
        user_facts=tuple(_nearest(user_facts, asked, settings.recall_facts)),
        agent_facts=tuple(_nearest(agent_facts, asked, settings.recall_facts)),
        profile=tuple(_both(owner, persona, Kind.PROFILE, then)),
        traits=tuple(_both(owner, persona, Kind.TRAIT, then)),
    )


def _ranked(owner: Source, asked: Asked, search: Search) -> list[TurnHit]:
    """The best turns, as many as it takes to have `search.pages` pages."""
    with owner.resident.lock:
        index = owner.resident.turns
        scores = scored(owner.resident, asked, search.strategy, search.weights)
        allowed = search.allows(index)
        if search.strategy is Strategy.BM25:
            allowed &= scores.total > 0  # without one of the words a turn is no match
        rows = _best(scores, allowed, index.order, index.pages, search.pages)
        found = [(*index.place(row), _parts_at(scores, row)) for row in rows]
    cubes = owner.reader.get(page for page, _, _ in found)
    if search.as_of:
        then = {page: cube_at(owner.reader, cube, search.as_of) for page, cube in cubes.items()}
        cubes = {page: cube for page, cube in then.items() if cube}
    return [
        TurnHit(cubes[page], turn, sum(parts.values()), MappingProxyType(parts))
        for page, turn, parts in found
        if page in cubes and turn < len(turns_of(cubes[page]))
    ]


def _reranked(turns: list[TurnHit], asked: Asked, reranker: Reranker | None) -> list[TurnHit]:
    """The same turns in the reranker's order; the score they were found by becomes a part."""
    if reranker is None or not turns:
        return turns
    judged = reranker.scores(
        asked.text, [f"{turn.turn.speaker or turn.turn.role}: {turn.turn.words}" for turn in turns]
    )
    again = [
        replace(turn, score=float(score), parts=MappingProxyType({"rerank": float(score), "found": turn.score}))
        for turn, score in zip(turns, judged, strict=True)
    ]
    return sorted(again, key=lambda turn: -turn.score)


def _parts_at(scores: Scores, row: int) -> dict[str, float]:
    return {name: float(part[row]) for name, part in scores.parts.items()}


def _best(scores: Scores, allowed: Flags, order: Ints, page_of: Ints, pages: int) -> list[int]:
    """Rows by score, the later one first in a tie, until they are of that many pages."""
    total = np.where(allowed, np.round(scores.total, _DECIMALS), -np.inf)
    candidates = int(allowed.sum())
    wanted = min(candidates, _AT_FIRST * pages)
    while True:
        rows = _top(total, order, wanted)
        last = _enough(page_of[rows], pages)
        if last is not None or wanted == candidates:
            return [int(row) for row in rows[:last]]
        wanted = min(candidates, 4 * wanted)


def _top(total: np.ndarray, order: Ints, wanted: int) -> Ints:
    if not wanted:
        return np.empty(0, np.int64)
    worst = np.partition(total, -wanted)[-wanted]
    rows = np.flatnonzero(total >= worst)  # all that tie with the last, so that the choice among them is ours
    return rows[np.lexsort((-order[rows], -total[rows]))][:wanted]


def _enough(pages: Ints, wanted: int) -> int | None:
    """How many rows it takes to have `wanted` different pages; None when there are not that many."""
    first = np.sort(np.unique(pages, return_index=True)[1])
    return int(first[wanted]) if len(first) > wanted else None


def _pages(turns: Sequence[TurnHit], found: Mapping[str, Home]) -> Iterator[Hit]:
    """Each page once, with its best turn's score."""
    seen = set()
    for turn in turns:
        if turn.cube.id not in seen:
            seen.add(turn.cube.id)
            home = found.get(turn.cube.id, Home())
            yield Hit(turn.cube, turn.score, turn.parts, home.segment, home.topic)


def _held(source: Source, kind: Kind, subject: Subject, then: datetime | None) -> list[Entry]:
    """What the resident keeps whole, oldest first, as it was at that moment."""
    return entries_at(source.reader, source.resident.entries(kind, subject), then)


def _nearest(facts: Iterable[Entry], asked: Asked, limit: int) -> list[Hit]:
    hits = [_by_cosine(fact, asked.vector) for fact in facts]
    return sorted(hits, key=lambda hit: -hit.score)[:limit]


def _by_cosine(entry: Entry, question: Vector, topic: str = "") -> Hit:
    score = cosine(entry.vector, question)
    return Hit(entry.cube, score, MappingProxyType({"cosine": score}), topic=topic)


def _both(owner: Source, persona: Source, kind: Kind, then: datetime | None) -> list[MemCube]:
    user, agent = _held(persona, kind, Subject.USER, then), _held(owner, kind, Subject.AGENT, then)
    return [entry.cube for entry in (*user, *agent)]
