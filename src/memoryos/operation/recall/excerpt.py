"""Excerpt: the turns of a very large memory that may answer a question, with their neighbours.

A candidate index names the turns that are nearest in meaning, those with the words of the question, and those near
in meaning that were said in the time it asks about. These are read from the store and ranked like the turns of a small
scope, with what the index knows of all others: how many there are, how long they are, how often each word occurs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, time

from memoryos.clock import micros
from memoryos.infrastructure.candidates.port import Candidates, Narrow, Place
from memoryos.infrastructure.vault.contract import Reader
from memoryos.language.period import Period
from memoryos.language.times import asked_periods
from memoryos.language.words import index_words, stem
from memoryos.operation.index.turns import Corpus, TurnIndex
from memoryos.operation.recall.filters import Filters
from memoryos.operation.recall.fusion import Asked

DAY = 24 * 3600 * 10**6  # microseconds

CANDIDATES = 200  # turns of each kind, at least
_SCALE = 10  # turns
_FOR_EACH_PAGE = 2  # turns of each kind, when many pages are wanted


def excerpt(candidates: Candidates, reader: Reader, asked: Asked, filters: Filters, pages: int) -> TurnIndex:
    """The turns in which to look for that many pages."""
    limit = max(CANDIDATES, _FOR_EACH_PAGE * pages)
    places = _places(candidates, asked, _narrow(filters), limit)
    chosen = frozenset(place.page for place in places)
    totals = candidates.totals
    corpus = Corpus(
        pages=chosen,
        turns=totals.turns,
        mean_length=totals.words / max(totals.turns, 1),
        lowest=candidates.farthest(asked.vector),
        frequencies=candidates.frequencies,
    )
    index = TurnIndex(len(asked.vector), corpus)
    index.put([passage for passage in reader.passages(chosen | reader.beside(chosen)) if passage.part])
    return index


def _places(candidates: Candidates, asked: Asked, narrow: Narrow, limit: int) -> Iterator[Place]:
    stems = [stem(word) for word in index_words(asked.text) if word not in asked.undated]  # they find whole days
    yield from candidates.nearest(asked.vector, limit, narrow)
    yield from candidates.matching(stems, limit, narrow)
    anywhere = Narrow(narrow.now, cold=narrow.cold, merged=narrow.merged)
    if narrow != anywhere:  # the best of all turns set the scale that scores are measured by
        yield from candidates.nearest(asked.vector, _SCALE, anywhere)
        yield from candidates.matching(stems, _SCALE, anywhere)
    for period in asked_periods(asked.text, asked.at) if asked.at else ():
        yield from candidates.nearest(asked.vector, limit, _within(narrow, period))


def _narrow(filters: Filters) -> Narrow:
    ends = [micros(end) for end in (filters.until, filters.as_of) if end]
    return Narrow(
        now=micros(filters.now),
        tiers=filters.tiers,
        session=filters.session,
        labels=filters.labels,
        since=micros(filters.since) if filters.since else None,
        until=min(ends) if ends else None,
        cold=filters.cold,
        merged=filters.looks_back,
    )


def _within(narrow: Narrow, period: Period) -> Narrow:
    first, last = _midnight(period.first), _midnight(period.last) + DAY - 1
    since = first if narrow.since is None else max(first, narrow.since)
    until = last if narrow.until is None else min(last, narrow.until)
    return replace(narrow, since=since, until=until)


def _midnight(day: date) -> int:
    return micros(datetime.combine(day, time(), UTC))
